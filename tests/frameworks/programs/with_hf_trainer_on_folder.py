"""Hugging Face Trainer on torchvision's own data set and torch's own collate."""

import sys

import torch
from common import small_model, train_set
from told import tell
from transformers import Trainer, TrainingArguments


class OnPairs(Trainer):
    """The data set yields images and labels without names."""

    seen = 0

    def compute_loss(self, model, inputs, **named):
        images, labels = inputs
        tell(self.seen, len(labels), (images, labels))
        self.seen += 1
        return torch.nn.functional.cross_entropy(model(images), labels)


def trainer(folder: str, out: str) -> Trainer:
    arguments = TrainingArguments(
        output_dir=out,
        max_steps=10,
        save_steps=4,
        save_total_limit=3,
        per_device_train_batch_size=4,
        dataloader_num_workers=2,
        remove_unused_columns=False,
        seed=7,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
    )
    return OnPairs(
        model=small_model(),
        args=arguments,
        train_dataset=train_set(folder),
        data_collator=torch.utils.data.default_collate,
    )


if __name__ == "__main__":
    trainer(*sys.argv[1:3]).train()
    trainer(*sys.argv[1:3]).train(resume_from_checkpoint=f"{sys.argv[2]}/checkpoint-4")
