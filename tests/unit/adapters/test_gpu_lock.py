import io
import subprocess
import sys
import threading
import time

from guardrail.adapters.gpu_lock import GpuLock

HOLDER = """
import io, sys, time
from pathlib import Path
from guardrail.adapters.gpu_lock import GpuLock
with GpuLock("GPU-1", io.StringIO(), Path(sys.argv[1])).held():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_waits_says_so_once_and_goes_on_when_the_first_ends(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        messages = io.StringIO()
        lock = GpuLock("GPU-1", messages, tmp_path)
        entered = threading.Event()

        def wait_for_it():
            with lock.held():
                entered.set()

        waiting = threading.Thread(target=wait_for_it)
        waiting.start()
        deadline = time.monotonic() + 20
        while not messages.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not entered.is_set()
    finally:
        holder.kill()  # the lock ends with its holder, however that ends
        holder.wait()
        holder.stdout.close()
    waiting.join(20)
    assert entered.is_set()
    with lock.held():
        pass
    assert messages.getvalue() == ("guardrail: another run measures on GPU GPU-1; waiting until it ends\n")


def test_another_gpu_is_not_waited_for(tmp_path):
    messages = io.StringIO()
    with GpuLock("GPU-1", messages, tmp_path).held(), GpuLock("GPU-2", messages, tmp_path).held():
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "guardrail-GPU-1.lock",
            "guardrail-GPU-2.lock",
        ]
    assert messages.getvalue() == ""


def test_a_lock_file_that_may_only_be_read_is_enough(tmp_path):
    path = tmp_path / "guardrail-GPU-1.lock"
    path.touch()
    path.chmod(0o444)
    with GpuLock("GPU-1", io.StringIO(), tmp_path).held():
        assert path.read_bytes() == b""
