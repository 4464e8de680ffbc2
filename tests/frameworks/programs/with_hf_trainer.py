"""Hugging Face Trainer on images: trains, then resumes from its checkpoint."""

import sys

import torch
from common import small_model, train_set
from told import tell
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Named(Dataset):
    """The Trainer's models take their inputs by name."""

    def __init__(self, data) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index):
        image, label = self.data[index]
        return {"pixel_values": image, "labels": label}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model, self.step = small_model(), 0

    def forward(self, pixel_values, labels):
        tell(self.step, len(labels), (pixel_values, labels))
        self.step += 1
        logits = self.model(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def trainer(folder: str, out: str) -> Trainer:
    arguments = TrainingArguments(
        output_dir=out,
        max_steps=10,
        save_steps=4,
        save_total_limit=3,
        per_device_train_batch_size=4,
        dataloader_num_workers=2,
        seed=7,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
    )
    return Trainer(model=Model(), args=arguments, train_dataset=Named(train_set(folder)))


if __name__ == "__main__":
    trainer(*sys.argv[1:3]).train()
    trainer(*sys.argv[1:3]).train(resume_from_checkpoint=f"{sys.argv[2]}/checkpoint-4")
