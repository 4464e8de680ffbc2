"""The shape of Hugging Face's image classification script: `datasets`, set_transform, the Trainer."""

import sys

import numpy as np
import torch
from datasets import disable_progress_bars, load_dataset
from told import say, tell
from torchvision.transforms import (
    CenterCrop,
    Compose,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToTensor,
)
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification


class TellingForImageClassification(ViTForImageClassification):
    """transformers takes the loss from the end of the name."""

    calls = 0

    def forward(self, pixel_values, labels=None, **named):
        tell(self.calls, len(pixel_values), (pixel_values, labels))
        self.calls += 1
        return super().forward(pixel_values, labels=labels, **named)


def collate_fn(examples):
    pixel_values = torch.stack([example["pixel_values"] for example in examples])
    labels = torch.tensor([example["label"] for example in examples])
    return {"pixel_values": pixel_values, "labels": labels}


def compute_metrics(p):
    return {"accuracy": float((np.argmax(p.predictions, axis=1) == p.label_ids).mean())}


def main(folder, out):
    disable_progress_bars()
    dataset = load_dataset("imagefolder", data_dir=folder, cache_dir=f"{out}/cache")
    labels = dataset["train"].features["label"].names
    size = 32
    normalize = Normalize(mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5])
    _train_transforms = Compose(
        [RandomResizedCrop(size), RandomHorizontalFlip(), ToTensor(), normalize]
    )
    _val_transforms = Compose([Resize(size), CenterCrop(size), ToTensor(), normalize])

    def train_transforms(batch):
        batch["pixel_values"] = [
            _train_transforms(image.convert("RGB")) for image in batch["image"]
        ]
        return batch

    def val_transforms(batch):
        batch["pixel_values"] = [_val_transforms(image.convert("RGB")) for image in batch["image"]]
        return batch

    dataset["train"].set_transform(train_transforms)
    dataset["validation"].set_transform(val_transforms)
    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        image_size=size,
        patch_size=16,
        num_labels=len(labels),
    )
    arguments = TrainingArguments(
        output_dir=out,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        eval_strategy="epoch",
        save_strategy="no",
        logging_strategy="no",
        remove_unused_columns=False,
        dataloader_num_workers=2,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(
        model=TellingForImageClassification(config),
        args=arguments,
        train_dataset=dataset["train"],
        eval_dataset=dataset["validation"],
        compute_metrics=compute_metrics,
        data_collator=collate_fn,
    )
    trainer.train()
    say(f"result {trainer.evaluate()['eval_accuracy']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
