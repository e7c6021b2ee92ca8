import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402

from openrebench.core.catalog import find_card  # noqa: E402
from openrebench.environments.restricted_mlm.checker import export, interpret  # noqa: E402
from openrebench.environments.restricted_mlm.checker.rules import ALLOWED, IN_PLACE  # noqa: E402
from openrebench.environments.restricted_mlm.hidden import masking  # noqa: E402

V, T, D, B = 50, 8, 16, 4
Forward = Callable[[Tensor], Tensor]


def honest_models() -> list[type[nn.Module]]:
    path = Path(__file__).with_name("honest_models.py")
    spec = importlib.util.spec_from_file_location("honest_models", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[type[nn.Module]] = module.HONEST
    return found


def tokens() -> Tensor:
    return torch.randint(V, (B, T))


def graph_of(forward: Forward) -> interpret.Graph:
    """Export, send through text as the scorer gets it, and check."""
    recorded = export.record(forward, tokens())
    text = json.dumps({"nodes": recorded.nodes, "output": recorded.output})
    graph = interpret.parse(text.encode(), recorded.constants)
    interpret.check(graph, tokens(), V)
    return graph


@pytest.mark.parametrize("kind", honest_models(), ids=lambda kind: kind.__name__)
def test_an_honest_model_is_accepted_and_computes_the_same(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    graph, unseen = graph_of(model), tokens()
    with torch.no_grad():
        assert torch.allclose(interpret.run(graph, unseen), model(unseen), atol=1e-5)


torch.manual_seed(0)
EMBEDDING, OUT = torch.randn(V, D), torch.randn(D, V)


def ends_with(body: Callable[[Tensor], Tensor]) -> Forward:
    return lambda t: body(EMBEDDING[t]) @ OUT


FORBIDDEN: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "softmax": (lambda h: torch.softmax(h, -1), "relu is the only"),
    "division": (lambda h: h / h.sum(-1, keepdim=True), "multiply by a constant"),
    "division by a number": (lambda h: h / 3.0, "multiply by a constant"),
    "mean": (lambda h: h.mean(-1, keepdim=True) + h, "use sum"),
    "power": (lambda h: h**2, "by itself"),
    "exp": (torch.exp, "aten.exp.default"),
    "exp in place": (lambda h: (h + 0).exp_(), "aten.exp_.default"),
    "tanh": (torch.tanh, "aten.tanh.default"),
    "gelu": (nn.functional.gelu, "relu is the only"),
    "leaky relu": (nn.functional.leaky_relu, "leaky_relu"),
    "clamp": (lambda h: h.clamp(0, 1), "aten.clamp"),
    "maximum": (lambda h: torch.maximum(h, -h), "maximum"),
    "absolute value": (torch.abs, "aten.abs"),
    "comparison": (lambda h: (h > 0).float() * h, "aten.gt"),
    "where": (lambda h: torch.where(h > 0, h, -h), "is not an allowed operation"),
    "masked fill": (lambda h: h.masked_fill(h > 0, 0.0), "is not an allowed operation"),
    "sort": (lambda h: h.sort(-1).values, "aten.sort"),
    "layer norm": (lambda h: nn.functional.layer_norm(h, (D,)), "norms"),
    "convolution": (
        lambda h: nn.functional.conv1d(h.transpose(1, 2), torch.ones(D, D, 1)).transpose(1, 2),
        "slices",
    ),
    "float to integer": (lambda h: EMBEDDING[(h * 3).relu().long()[..., 0] * 0], "casts"),
    "half precision": (lambda h: h.half().float(), "float16"),
    "double precision": (lambda h: h.double().float(), "float64"),
    "bits": (lambda h: h.view(torch.int32).float(), "aten.view.dtype"),
    "value in Python": (lambda h: h * float(h.sum()), "in Python"),
    "condition in Python": (lambda h: h if h.sum() > 0 else -h, "is not an allowed operation"),
    "round by copying": (lambda h: h + torch.zeros(B, T, D).long().copy_(h), "casts|int64|mixes"),
    "parameter written": (lambda h: h + EMBEDDING.add_(h.sum((0, 1)) * 0)[0], "writes"),
    "complex numbers": (lambda h: torch.complex(h, h).real, "aten.complex"),
    "spectrum": (lambda h: torch.fft.rfft(h).real @ torch.ones(D // 2 + 1, D), "aten._fft"),
    "product over a dimension": (lambda h: h.prod(-1, keepdim=True) + h, "aten.prod"),
    "largest of a window": (lambda h: nn.functional.max_pool1d(h, 3, 1, 1), "aten.max_pool"),
    "running sum": (lambda h: h.cumsum(1), "triangular"),
    "place in a table": (lambda h: EMBEDDING[h[..., 0].argmax(1)][:, None] + h, "aten.argmax"),
    "searched in a table": (
        lambda h: EMBEDDING[torch.bucketize(h[..., 0].contiguous(), torch.arange(9.0))],
        "aten.bucketize",
    ),
    "scattered": (
        lambda h: torch.zeros(B, T, D).scatter_add(2, torch.zeros(B, T, D).long(), h),
        "aten.scatter_add",
    ),
    "written by position": (
        lambda h: torch.zeros(B, T, D).index_put((torch.zeros(1).long(),), h[:1]),
        "aten.index_put",
    ),
    "sum cast to integers": (lambda h: h.sum(-1, dtype=torch.int64)[..., None] * h, "casts"),
    "sum in double": (
        lambda h: h.sum(-1, dtype=torch.float64)[..., None].float() * h,
        "float64",
    ),
    "eight bits": (lambda h: h.to(torch.float8_e4m3fn).float(), "float8"),
    "rounded": (torch.round, "aten.round"),
    "sign": (torch.sign, "aten.sign"),
    "sampled": (lambda h: torch.bernoulli(torch.sigmoid(h)), "aten.sigmoid"),
    "simulated quantisation": (
        lambda h: torch.fake_quantize_per_tensor_affine(h, 0.1, 0, -128, 127),
        "quantize",
    ),
    "NaN replaced": (lambda h: torch.nan_to_num(h * 1e38 * 1e38), "nan_to_num"),
    "attention": (
        lambda h: nn.functional.scaled_dot_product_attention(h[None], h[None], h[None])[0],
        "attention",
    ),
    "renormalised table": (
        lambda h: h + nn.functional.embedding(torch.zeros(1).long(), h[0].clone(), max_norm=1.0),
        "renorm|casts",
    ),
    "resized": (lambda h: (h + 0).resize_(B, T, D), "resize"),
    "infinite factor": (lambda h: h * float("inf"), "infinite"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_form_is_refused_by_operation_and_line(name: str) -> None:
    body, says = FORBIDDEN[name]
    with pytest.raises(interpret.RuleBroken, match=says) as caught:
        graph_of(ends_with(body))
    assert str(caught.value).startswith("test_rules.py:"), caught.value
    assert "aten." in str(caught.value)


@pytest.mark.parametrize("form", [lambda t: t // 2, lambda t: t % 7, lambda t: t >> 1])
def test_tokens_are_not_divided_either(form: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(interpret.RuleBroken, match="is not an allowed operation"):
        graph_of(lambda t: EMBEDDING[form(t)] @ OUT)


def test_an_infinite_constant_is_refused() -> None:
    endless = torch.full((D,), torch.inf)
    with pytest.raises(interpret.RuleBroken, match="infinite or undefined"):
        graph_of(ends_with(lambda h: torch.relu(h) * endless))


def test_what_pytorch_does_not_see_is_frozen_and_gains_nothing() -> None:
    def forward(t: Tensor) -> Tensor:
        h = EMBEDDING[t]
        away = torch.from_numpy(h.numpy().copy() ** 3)
        return (h + away) @ OUT

    graph, unseen = graph_of(forward), tokens()
    assert not torch.allclose(interpret.run(graph, unseen), forward(unseen), atol=1e-2)


def test_logits_that_do_not_depend_on_the_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="do not depend"):
        graph_of(lambda t: torch.zeros(B, T, V))


def test_the_tokens_are_alone_in_their_memory() -> None:
    """A view that reaches beyond the tokens of its batch finds nothing there."""
    everything = torch.randint(V, (2 * B, T))
    node = interpret.Node(
        "aten.as_strided.default", ({"tensor": "tokens"}, [B, T], [T, 1], B * T), {}, ("t0.0",), "?"
    )
    with pytest.raises(interpret.BadGraph, match="does not run"):
        interpret.run(interpret.Graph((node,), {}, "t0.0"), everything[:B])


def test_a_batch_leaves_nothing_for_the_next() -> None:
    def forward(t: Tensor) -> Tensor:
        logits = torch.zeros(B, T, V)
        logits[:, 1:] += EMBEDDING[t[:, :-1]] @ OUT
        return logits

    graph, first = graph_of(forward), tokens()
    expected = interpret.run(graph, first).clone()
    interpret.run(graph, tokens())
    assert torch.equal(interpret.run(graph, first), expected)


def test_too_large_a_tensor_is_refused_before_it_is_made() -> None:
    node = interpret.Node(
        "aten.expand.default", ({"tensor": "c0"}, [1 << 20, 1 << 20]), {}, ("t0.0",), "model.py:1"
    )
    graph = interpret.Graph((node,), {"c0": torch.ones(1, 1)}, "t0.0")
    with pytest.raises(interpret.BadGraph, match="numbers"):
        interpret.check(graph, tokens(), V)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"[" * 100_000, b'{"nodes": 3, "output": "t0.0"}',
        b'{"nodes": [{"op": "os.system"}], "output": "t0.0"}',
        b'{"nodes": [{"op": "a.b.c", "args": [], "kwargs": {}, "out": ["../x"], "line": ""}], '
        b'"output": "t0.0"}',
    ],
)  # fmt: skip
def test_a_broken_record_gets_one_sentence(text: bytes) -> None:
    with pytest.raises(interpret.BadGraph, match="can't be read"):
        interpret.parse(text, {})


@pytest.mark.parametrize(
    "raw",
    [
        {"tensor": ["c0"]}, {"tensor": "c9"}, {"dtype": 3}, {"x": 1}, {}, "s", 10**30, -(2**63),
        [[[[[[[[[1]]]]]]]]],
    ],
)  # fmt: skip
def test_a_broken_argument_gets_one_sentence(raw: object) -> None:
    for op, args in (
        ("relu.default", [raw]),
        ("_unsafe_view.default", [{"tensor": "tokens"}, raw]),
    ):
        node = {"op": f"aten.{op}", "args": args, "kwargs": {}, "out": ["t0.0"], "line": "m:1"}
        text = json.dumps({"nodes": [node], "output": "t0.0"}).encode()
        with pytest.raises((interpret.BadGraph, interpret.RuleBroken)):
            interpret.check(interpret.parse(text, {}), tokens(), V)


@pytest.mark.parametrize("depth", [30, 500, 2000, 100_000])
def test_deep_arguments_get_one_sentence(depth: int) -> None:
    args = "[" * depth + "]" * depth
    node = f'{{"op": "aten.relu.default", "args": {args}, "kwargs": {{}}, "out": [], "line": ""}}'
    with pytest.raises(interpret.BadGraph, match="can't be read"):
        interpret.parse(f'{{"nodes": [{node}], "output": "t0.0"}}'.encode(), {})


def test_rows_of_a_batch_do_not_continue_each_other() -> None:
    """A model that looks across its batch must find no context there."""
    profile = find_card("restricted_mlm").profile("small")
    size = profile.integer("positions")
    text = torch.arange(profile.integer("sequences") * size)
    batches = list(masking.masked(text, profile, "score"))
    rows = torch.cat([hidden for hidden, _, _ in batches])
    assert torch.equal(rows[:, 0].sort().values, torch.arange(len(rows)) * size)
    neighbours = sum(
        int((torch.cdist(starts, starts, p=1) == size).sum()) // 2
        for starts in (hidden[:, :1].double() for hidden, _, _ in batches)
    )
    assert neighbours < 0.05 * len(rows)


def test_every_allowed_name_exists() -> None:
    for name in ALLOWED:
        _, operation, overload = name.split(".")
        assert hasattr(getattr(torch.ops.aten, operation), overload), name
    assert IN_PLACE == {
        "aten.add_.Tensor", "aten.add_.Scalar", "aten.sub_.Tensor", "aten.sub_.Scalar",
        "aten.mul_.Tensor", "aten.mul_.Scalar", "aten.relu_.default", "aten.copy_.default",
    }  # fmt: skip
