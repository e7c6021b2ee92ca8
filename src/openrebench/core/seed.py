"""Secret randomness of one score call."""

import hashlib
import os
from dataclasses import dataclass

import numpy as np

SEED_BYTES = 32


@dataclass(frozen=True)
class Seed:
    """256 secret bits, from which every random choice of one score call is derived.

    The score log gets the commitment when the score is made; the bytes stay on the trusted
    side and may be revealed once the attempt has ended, so that anybody can check the score.
    """

    secret: bytes

    @classmethod
    def fresh(cls) -> "Seed":
        """Draw a seed from the operating system."""
        return cls(os.urandom(SEED_BYTES))

    @property
    def commitment(self) -> str:
        """SHA-256 of the secret, in hex: says nothing about it, and binds us to it."""
        return hashlib.sha256(self.secret).hexdigest()

    def rng(self, label: str) -> np.random.Generator:
        """Give an independent random stream for one purpose.

        No stream predicts another: each is keyed by a hash of the secret and its label.

        Example:
            >>> seed = Seed(bytes(32))
            >>> a, b = (int(seed.rng(label).integers(1 << 30)) for label in ("a", "b"))
            >>> a != b and a == int(seed.rng("a").integers(1 << 30))
            True
        """
        key = hashlib.sha256(self.secret + label.encode()).digest()
        sequence = np.random.SeedSequence(int.from_bytes(key, "little"))
        return np.random.Generator(np.random.SFC64(sequence))
