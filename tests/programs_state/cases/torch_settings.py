"""What a program sets in torch before it iterates: a worker has all of it."""

import torch
from bits import epochs, say, show
from cases import Look, case, looked, main, photos
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets
from torchvision import transforms as T


@case(workers=2, hosts=2, always=True)
def default_dtype():
    torch.set_default_dtype(torch.float64)
    looked(lambda i: torch.rand(2) + i)


@case(hosts=2)
def default_dtype_of_folder():
    torch.set_default_dtype(torch.float64)
    epochs(DataLoader(datasets.ImageFolder(photos(), _to_tensor()), 2, num_workers=2))


def _to_tensor():
    return T.Compose([T.Resize((24, 24)), T.ToTensor(), T.Normalize([0.5], [0.25])])


@case()
def default_dtype_set_between_epochs():
    loader = DataLoader(Look(lambda i: torch.ones(2) * i), 2, num_workers=2)
    dtypes = [torch.float32, torch.float64, torch.float16]
    epochs(loader, 3, before=lambda epoch: torch.set_default_dtype(dtypes[epoch]))


@case()
def default_dtype_without_workers():
    torch.set_default_dtype(torch.float64)
    epochs(DataLoader(Look(lambda i: torch.rand(2)), 2))


@case(workers=2)
def grad_mode_off():
    torch.set_grad_enabled(False)
    weight = torch.ones(2, requires_grad=True)
    looked(lambda i: str(((weight * i).requires_grad, torch.is_grad_enabled())))


@case(always=True)
def inference_mode_around_the_loop():
    with torch.inference_mode():
        looked(lambda i: (str(torch.is_inference_mode_enabled()), torch.ones(2) * i))


@case()
def no_grad_around_the_loop():
    with torch.no_grad():
        looked(lambda i: str(torch.is_grad_enabled()))


@case(hosts=2)
def deterministic_algorithms():
    torch.use_deterministic_algorithms(True, warn_only=True)
    asked = torch.are_deterministic_algorithms_enabled
    looked(lambda i: str((asked(), torch.is_deterministic_algorithms_warn_only_enabled())))


@case()
def deterministic_algorithms_raise_on_the_way():
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    looked(lambda i: torch.empty(3))


@case()
def flush_denormal():
    torch.set_flush_denormal(True)
    looked(lambda i: torch.tensor([1e-40]) * 1.0)


@case()
def number_of_threads():
    torch.set_num_threads(2)
    looked(lambda i: torch.get_num_threads())


@case()
def number_of_threads_without_workers():
    torch.set_num_threads(2)
    epochs(DataLoader(Look(lambda i: torch.get_num_threads()), 2))


@case(hosts=2)
def print_options():
    torch.set_printoptions(precision=2, sci_mode=True)
    looked(lambda i: str(torch.tensor([3.14159, i])))


@case()
def matmul_precision():
    torch.set_float32_matmul_precision("medium")
    looked(lambda i: torch.get_float32_matmul_precision())


@case()
def mkldnn_switched_off():
    torch.backends.mkldnn.enabled = False
    looked(lambda i: torch.backends.mkldnn.enabled)


@case()
def anomaly_mode():
    torch.autograd.set_detect_anomaly(True)
    looked(lambda i: torch.is_anomaly_enabled())


@case()
def hub_folder():
    torch.hub.set_dir("of-this-program")
    looked(lambda i: torch.hub.get_dir())


@case(hosts=2)
def default_device_meta():
    torch.set_default_device("meta")
    looked(lambda i: str(torch.empty(2).device))


@case()
def warn_always():
    torch.set_warn_always(True)
    looked(lambda i: torch.is_warn_always_enabled())


@case()
def sharing_strategy_of_files():
    torch.multiprocessing.set_sharing_strategy("file_system")
    looked(lambda i: (torch.multiprocessing.get_sharing_strategy(), torch.ones(3) * i))


class Half(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result / 2 if function is torch.mul else result


@case()
def function_mode_around_the_loop():
    with Half():
        looked(lambda i: torch.mul(torch.ones(2), i))


@case(hosts=2, always=True)
def method_of_tensor_replaced():
    plain = torch.Tensor.add
    torch.Tensor.add = lambda self, other: plain(self, other) * 10
    looked(lambda i: torch.ones(2).add(i))


@case()
def function_of_functional_replaced():
    torch.nn.functional.relu = lambda x: x + 100
    looked(lambda i: torch.nn.functional.relu(torch.tensor([-1.0, i])))


@case()
def custom_operator_made_at_run_time():
    @torch.library.custom_op("bits_of_state::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    looked(lambda i: torch.ops.bits_of_state.twice(torch.ones(2) * i))


@case()
def autocast_around_the_loop():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        looked(lambda i: torch.ones(2, 2) @ torch.ones(2, 2) * i)


@case()
def module_hook_for_all_modules():
    torch.nn.modules.module.register_module_forward_hook(lambda module, args, result: result + 1)
    scale = torch.nn.Identity()
    looked(lambda i: scale(torch.ones(2) * i))


@case()
def hook_for_all_modules_and_a_native_pipeline():
    torch.nn.modules.module.register_module_forward_hook(
        lambda module, args, result: result + 1 if isinstance(result, torch.Tensor) else result
    )
    epochs(DataLoader(datasets.ImageFolder(photos(), _to_tensor()), 2, num_workers=2))


@case()
def model_in_evaluation_mode_in_the_data_set():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    loader = DataLoader(Look(lambda i: model(torch.ones(2) * i).detach()), 2, num_workers=2)

    def before(epoch):
        model.train(epoch == 0)

    epochs(loader, 2, before=before)


@case()
def loader_generator_and_default_one():
    generator = torch.Generator().manual_seed(7)
    data = TensorDataset(torch.arange(10.0))
    epochs(DataLoader(data, 3, shuffle=True, generator=generator), 2)
    show(generator.get_state(), "generator")


@case()
def initial_seed_in_workers():
    looked(lambda i: torch.initial_seed(), count=2)


@case(always=True)
def fork_rng_in_a_sample():
    def look(i):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(i)
            fixed = torch.rand(1)
        return torch.cat([fixed, torch.rand(1)])

    looked(look, count=2)


@case()
def seeded_in_a_sample():
    def look(i):
        torch.manual_seed(i)
        return torch.rand(1)

    epochs(DataLoader(Look(look), 2), 2)
    looked(look)
    say(str(torch.rand(1).item()))


if __name__ == "__main__":
    main()
