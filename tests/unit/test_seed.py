import hashlib

from openrebench.core.seed import Seed


def test_seeds_differ_and_commit_to_themselves():
    a, b = Seed.fresh(), Seed.fresh()
    assert a.secret != b.secret and len(a.secret) == 32
    assert a.commitment == hashlib.sha256(a.secret).hexdigest()


def test_streams_of_one_seed_are_repeatable_and_unrelated():
    seed = Seed.fresh()
    draws = [seed.rng(f"call {k}").integers(0, 2**62, 8).tolist() for k in range(50)]
    assert len({d[0] for d in draws}) == 50
    assert draws[7] == seed.rng("call 7").integers(0, 2**62, 8).tolist()
