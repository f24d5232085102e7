"""The bundled kernel families, found in a wheel and in a checkout alike.

A wheel carries the families beside this file. A checkout keeps them in the top-level ``kernels/`` folder,
which is never importable by that name: another well-known package owns it.
"""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]
if (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "kernels").is_dir():
    __path__.append(str(_CHECKOUT / "kernels"))
