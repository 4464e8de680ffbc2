"""torch."""

from typing import Any

import torch

from ..arguments import Arguments
from ..frames import Frame
from ..interpreter import Interpreter
from ..proof import Code
from ..values import NONE, Value, constant
from .entry import ALIAS, FRESH, SCALAR, Entry, apply

_T = torch.Tensor

_FRESH = (
    "tensor abs add addmm all allclose amax amin angle any arange argmax argmin argsort baddbmm "
    "bincount bmm bucketize cat cdist ceil clamp clip clone complex concat concatenate cos cosh "
    "count_nonzero cross cummax cumprod cumsum deg2rad dist div divide dot empty "
    "empty_like eq equal erf exp exp2 expm1 eye flip fliplr flipud floor floor_divide fmod frac full "
    "full_like gather gcd ge gt hann_window hamming_window histc histogram hstack index_select "
    "inverse isclose isfinite isin isinf isnan kthvalue le lerp linspace log log10 log1p log2 "
    "logical_and logical_not logical_or logical_xor logsumexp logspace lt masked_select matmul max "
    "maximum mean median min minimum mm mul multiply mv nan_to_num ne neg nonzero norm one_hot ones "
    "ones_like outer pow prod quantile rad2deg reciprocal remainder repeat_interleave roll rot90 "
    "round rsqrt scatter scatter_add searchsorted sgn sigmoid sign sin sinc sinh softmax "
    "log_softmax sort sqrt square stack std std_mean sub subtract sum tan tanh tensordot tile topk "
    "trace tril tril_indices triu triu_indices true_divide trunc unique unique_consecutive var "
    "var_mean vstack dstack where zeros zeros_like is_tensor is_floating_point numel stft istft relu "
    "combinations block_diag bitwise_and bitwise_or bitwise_not "
    "bitwise_xor atan2 atan acos asin float_power heaviside hypot interp pairwise_distance "
    "cosine_similarity cumulative_trapezoid trapezoid take take_along_dim column_stack "
    "linalg.norm linalg.inv linalg.det linalg.svd linalg.solve linalg.qr linalg.vector_norm "
    "linalg.matrix_norm linalg.lstsq linalg.pinv linalg.eigh linalg.cross fft.fft fft.ifft fft.fft2 "
    "fft.ifft2 fft.rfft fft.irfft fft.rfft2 fft.irfft2 fft.fftshift fft.ifftshift fft.fftn fft.ifftn "
    "polar result_type is_complex iinfo finfo "
    "index_add index_fill index_copy masked_fill"
)
_VIEWS = (
    "from_numpy frombuffer as_strided atleast_1d atleast_2d atleast_3d "
    "broadcast_tensors broadcast_to chunk diag diagonal expand_copy flatten moveaxis movedim narrow "
    "permute ravel real imag reshape split squeeze swapaxes swapdims t tensor_split transpose "
    "einsum conj meshgrid cartesian_prod sparse_coo_tensor sparse_csr_tensor diff "
    "unbind unsqueeze unflatten view_as_real view_as_complex hsplit vsplit detach select"
)
_OF_SEQUENCES = (
    "as_tensor asarray LongTensor FloatTensor IntTensor BoolTensor ByteTensor DoubleTensor ShortTensor "
    "HalfTensor Tensor"
)
_DRAWS = (
    "rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial "
    "poisson"
)
_FUNCTIONAL = (
    "interpolate pad one_hot softmax log_softmax relu normalize conv1d conv2d conv3d avg_pool2d "
    "max_pool2d adaptive_avg_pool2d grid_sample affine_grid unfold fold sigmoid cross_entropy "
    "mse_loss l1_loss cosine_similarity gelu leaky_relu pixel_shuffle embedding linear "
    "conv_transpose2d max_pool1d avg_pool1d layer_norm logsigmoid softplus tanh elu silu "
    "adaptive_max_pool2d adaptive_avg_pool1d"
)


def _generator(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    return apply(it, frame, "torch.Generator", given, FRESH, torch.Generator)


def _of_sequence(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """Arrays and tensors are shared, and what is in a list or tuple is copied."""
    data = given.at(0, "data") if len(given.args) < 2 else given.args[0]
    copies = bool(data) and all(getattr(part, "cls", None) in (list, tuple) for part in data)
    kept = given.rest or given.more or "out" in given.named
    return apply(it, frame, "torch.as_tensor", given, FRESH if copies and not kept else ALIAS, _T)


ENTRIES = {
    "torch": [
        (_FRESH, Entry(FRESH, _T)),
        (_VIEWS, Entry(ALIAS, _T)),
        (_OF_SEQUENCES, Entry(special=_of_sequence)),
        (_DRAWS, Entry(FRESH, _T, draws=True)),
        ("dropout", Entry(ALIAS, _T, draws=True)),
        ("manual_seed set_rng_state", Entry(SCALAR, draws=True)),
        ("get_rng_state initial_seed", Entry(FRESH, _T, draws=True)),
        ("no_grad inference_mode enable_grad", Entry(FRESH, torch.no_grad)),
        ("Generator", Entry(special=_generator)),
        ("load", Entry(FRESH)),
        ("device Size get_default_dtype is_grad_enabled typename", Entry(SCALAR)),
        ("seed", Entry(SCALAR, seeded=True)),
        ("save", Entry(refuse=(Code.OUTSIDE_EFFECT, "which writes files"))),
    ],
    "torch.nn.functional": [
        (_FUNCTIONAL, Entry(ALIAS, _T)),
        ("dropout dropout2d gumbel_softmax", Entry(ALIAS, _T, draws=True)),
    ],
    "torch.nn.utils.rnn": [
        ("pad_sequence pack_sequence pack_padded_sequence pad_packed_sequence", Entry(ALIAS, _T)),
    ],
    "torch.utils.data": [
        ("default_collate", Entry(FRESH)),
        ("default_convert", Entry(ALIAS)),
        ("get_worker_info", Entry(FRESH, torch.utils.data._utils.worker.WorkerInfo, draws=True)),
    ],
    "torch.utils.data._utils.collate": [("default_collate", Entry(FRESH)),
                                        ("default_convert", Entry(ALIAS))],
    "torch.cuda": [("is_available device_count", Entry(SCALAR)),
                   ("manual_seed manual_seed_all", Entry(SCALAR, draws=True))],
    "torch.jit": [("is_scripting is_tracing annotate", Entry(SCALAR))],
    "torch.nn": [("Module.__init__", Entry(special=lambda it, f, t, g: _none(it, g)))],
    "torch._C": [("_log_api_usage_once", Entry(SCALAR))],
}  # fmt: skip


def _none(it: Interpreter, given: Arguments) -> Value:
    for part in given.at(0):
        it.writes_if_lasting(part)
        it.set_field(part, "training", constant(True))
    return NONE
