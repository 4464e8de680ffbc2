"""What a program will still take of a loader, as far as that can be seen."""

import gc
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from headrace.serve.remaining import UNKNOWN, remaining
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    TensorDataset,
)

DATA = TensorDataset(torch.arange(50))


class State:
    """Lives as long as its loader."""


def of(loader, owner, epochs=0, passed=0, name="data"):
    return remaining(loader, owner, name, epochs, passed)


@pytest.mark.parametrize(
    ("loader", "length"),
    [
        (DataLoader(DATA, 8), 50),
        (DataLoader(DATA, 8, shuffle=True, drop_last=True), 48),
        (DataLoader(DATA, 8, sampler=RandomSampler(DATA, True, 200)), 200),
        (DataLoader(DATA, batch_sampler=BatchSampler(SequentialSampler(DATA), 8, True)), 48),
        (DataLoader(DATA, batch_size=None), 50),
    ],
)
def test_later_epochs_count_and_those_before_do_not(loader, length):
    owner = State()
    name = f"of {id(loader)}"
    assert of(loader, owner, 3, name=name) == 3 * length
    assert of(loader, owner, 3, name=name) == 2 * length
    batch = loader.batch_sampler.batch_size if loader.batch_sampler else 1
    assert of(loader, owner, 3, passed=2, name=name) == length - 2 * batch
    assert of(loader, owner, 3, name=name) == length, "it goes on beyond its word"
    assert of(loader, State()) == UNKNOWN, "nobody says how many epochs"


def test_a_loader_of_each_epoch_goes_on_with_the_count():
    loader = DataLoader(DATA, 10)
    first = State()
    assert of(loader, first, 3, name="again") == 150
    beside = State()
    assert of(loader, beside, 3, name="again") == 150, "the first one is there still"
    del first, beside
    gc.collect()
    assert of(loader, State(), 3, name="again") == 100


def test_code_of_the_program_is_not_asked():
    class Loud(Sampler):
        def __iter__(self):
            return iter(range(50))

        def __len__(self):
            raise AssertionError("asked")

    class Endless(IterableDataset):
        def __iter__(self):
            return iter(range(50))

    assert of(DataLoader(DATA, 8, sampler=Loud()), State(), 3) == UNKNOWN
    assert of(DataLoader(DATA, batch_sampler=Loud()), State(), 3) == UNKNOWN
    assert of(DataLoader(DATA, batch_sampler=[[0, 1], [2]]), State(), 3) == UNKNOWN
    assert of(DataLoader(Endless(), 8), State(), 3) == UNKNOWN


@pytest.fixture
def framework(monkeypatch):
    """Puts a class in the place of a framework's."""

    def put(module, name, cls):
        made = ModuleType(module)
        setattr(made, name, cls)
        monkeypatch.setitem(sys.modules, module, made)
        top = module.partition(".")[0]
        monkeypatch.setitem(sys.modules, top, sys.modules.get(top) or ModuleType(top))

    return put


def test_a_hugging_face_trainer_says_its_steps(framework):
    class Trainer:
        state = SimpleNamespace(max_steps=100, global_step=40)
        args = SimpleNamespace(gradient_accumulation_steps=2)

        def _inner_training_loop(self):
            return self.next_epoch()

        def next_epoch(self):
            return of(DataLoader(DATA, 8), State(), passed=1), self.evaluation_loop()

        def evaluation_loop(self):
            return of(DataLoader(DATA, 8), State())

    framework("transformers.trainer", "Trainer", Trainer)
    training, evaluation = Trainer()._inner_training_loop()
    assert training == (60 * 2 - 1) * 8
    assert evaluation == UNKNOWN

    class Named:  # of a class that is no Trainer
        _inner_training_loop = Trainer._inner_training_loop
        next_epoch, evaluation_loop = Trainer.next_epoch, Trainer.evaluation_loop

    assert Named()._inner_training_loop() == (UNKNOWN, UNKNOWN)


def test_a_trainer_of_another_release_says_nothing(framework):
    class Trainer:
        def _inner_training_loop(self):
            return of(DataLoader(DATA, 8), State())

    framework("transformers.trainer", "Trainer", Trainer)
    assert Trainer()._inner_training_loop() == UNKNOWN


class RealLoader(DataLoader):
    """Asks as the seam does."""

    said: list

    def __iter__(self):
        self.said.append(of(self, self))
        return super().__iter__()


@pytest.mark.filterwarnings("ignore")  # its own hints
def test_lightning_says_its_epochs(tmp_path):
    lightning = pytest.importorskip("lightning")
    said, checked = [], []

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch, step):
            return (self.weight * batch[0].float()).mean()

        def validation_step(self, batch, step):
            pass

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    def loader(into):
        # Lightning may make the loader again, with the attributes of its class alone.
        kind = type("Loader", (RealLoader,), {"said": into})
        return kind(DATA, 10)

    def fit(**words):
        lightning.Trainer(
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            default_root_dir=tmp_path,
            **words,
        ).fit(Model(), loader(said), loader(checked))

    fit(max_epochs=3)
    assert said == [150, 100, 50]
    assert checked and set(checked) == {UNKNOWN}
    said.clear()
    fit(max_epochs=3, limit_train_batches=2)
    assert said == [60, 40, 20]
    said.clear()
    fit(max_steps=4, max_epochs=-1, accumulate_grad_batches=2)
    assert said == [80, 20], "the last step of an epoch has one batch"


@pytest.mark.filterwarnings("ignore")
def test_a_real_hugging_face_trainer_says_its_steps(tmp_path):
    transformers = pytest.importorskip("transformers")
    said = []

    class Small(transformers.Trainer):
        def get_train_dataloader(self):
            kind = type("Loader", (RealLoader,), {"said": said})
            return kind(DATA, 10)

        def compute_loss(self, model, inputs, **named):
            return model(inputs[0].float()[:, None]).mean()

    def train(**words):
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            save_strategy="no",
            logging_strategy="no",
            per_device_train_batch_size=10,
            **words,
        )
        Small(model=torch.nn.Linear(1, 1), args=arguments, train_dataset=DATA).train()

    train(num_train_epochs=2)
    assert said == [100, 50]
    said.clear()
    train(max_steps=7)
    assert said == [70, 20]
