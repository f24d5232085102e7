import pytest

from guardrail.adapters.vllm_engine.client import Client
from guardrail.errors import MeasurementError, UsageError
from helpers.openai_server import Served, serving


def client(served: Served) -> Client:
    return Client(served.url, "tiny", 5.0)


def test_a_chunk_is_a_step_and_the_server_counts_the_tokens():
    with serving(Served(tokens_per_chunk=3, cached_tokens=16)) as served:
        found = client(served).stream([1, 2, 3], 10)
    assert (len(found.content_times), found.completion_tokens, found.cached_tokens) == (4, 10, 16)
    assert list(found.content_times) == sorted(found.content_times)
    assert found.text == "0,1,2,0,1,2,0,1,2,0"
    (request,) = served.asked
    assert (request["model"], request["prompt"], request["temperature"]) == ("tiny", [1, 2, 3], 0)
    assert request["stream_options"] == {"include_usage": True}


def test_a_server_that_gives_text_alone_is_timed_by_it():
    with serving(Served(with_token_ids=False, cached_tokens=None)) as served:
        found = client(served).stream("a", 3)
    assert (len(found.content_times), found.text, found.cached_tokens) == (3, "xxx", None)


def test_a_url_may_name_the_version():
    with serving(Served()) as served:
        assert Client(f"{served.url}/v1/", "tiny", 5.0).stream("a", 2).completion_tokens == 2


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"with_usage": False}, "gave no usage with completion_tokens, though stream_options asked for it"),
        ({"counted": 9}, "streamed 4 tokens and counts 9"),
        ({"breaks_off": True}, "ended its stream without [DONE]"),
        ({"error": "out of memory"}, 'failed:  {"error": {"message": "out of memory"}}'),
        ({"status": 503}, "refused with 503"),
    ],
)
def test_a_stream_that_cannot_be_relied_on_is_an_error(faults, message):
    with serving(Served(**faults)) as served, pytest.raises(MeasurementError) as raised:
        client(served).stream([1], 4)
    assert str(raised.value).startswith(f"the server at {served.url} ")
    assert message in str(raised.value)


def test_an_echoed_prompt_is_scored_without_what_was_generated():
    with serving(Served()) as served:
        assert client(served).score("abcd") == [-1.5, -1.5, -1.5]
    assert (served.asked[0]["echo"], served.asked[0]["max_tokens"]) == (True, 1)


def test_a_server_that_does_not_echo_is_an_error():
    with serving(Served(logprobs=False)) as served, pytest.raises(MeasurementError, match="token_logprobs"):
        client(served).score("abcd")


def test_a_question_is_completed():
    with serving(Served()) as served:
        assert client(served).answer("2 + 3 = ", 8) == "the answer is 5"


def test_nobody_there_is_an_error():
    with serving(Served()) as served:
        pass
    with pytest.raises(MeasurementError, match=r"broke off: .*refused"):
        client(served).stream("a", 2)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://here", "http://"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(UsageError, match="expected an address such as"):
        Client(url, "tiny", 1.0)
