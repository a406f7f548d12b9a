"""Make a tiny Qwen3 of random weights: python tiny_qwen3.py FOLDER. Run by vLLM's own Python, which has the packages.

What it writes means nothing; what an engine does with it (schemas, streams, limits, aborts) is what it does with any.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

RECORDS = Path(__file__).resolve().parents[2] / "corpora" / "demo" / "records.jsonl"
END = "<|im_end|>"
SPECIAL = ["<|endoftext|>", "<|im_start|>", END]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def texts() -> Iterator[str]:
    """Yield every text of the demonstration records."""
    with RECORDS.open(encoding="utf-8") as lines:
        for line in lines:
            yield from (value for value in json.loads(line).values() if isinstance(value, str))


def write_tokenizer(folder: Path) -> tuple[int, list[int]]:
    """Train a byte-level BPE on the demonstration corpus and write it.

    Returns how many tokens it has, and those that are no text by themselves: the special ones, halves of characters.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1024, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts(), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=SPECIAL[0], chat_template=CHAT_TEMPLATE
    )
    fast.save_pretrained(folder)
    size = int(tokenizer.get_vocab_size())
    halves = [token for token in range(size) if "\ufffd" in tokenizer.decode([token], skip_special_tokens=False)]
    return size, [*range(len(SPECIAL)), *halves]


def write_weights(folder: Path, vocabulary: int, silent: list[int]) -> None:
    """Write a Qwen3 of 4 layers, 2 key-value heads of 64: 2,048 bytes of KV cache a token in 16 bits."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=8192,
        bos_token_id=0,
        eos_token_id=SPECIAL.index(END),
        pad_token_id=0,
        tie_word_embeddings=False,
        # The usual 0.02 gives logits so flat that the same token wins for ever.
        initializer_range=0.2,
    )
    model = Qwen3ForCausalLM(config)
    # Never the likeliest. So free text ends by its limit alone, or where a grammar allows nothing but the end, and each
    # token is text at once, where halves of characters would be held back until the engine knows the whole.
    with torch.no_grad():
        model.lm_head.weight[silent] = 0
    model.to(torch.bfloat16).save_pretrained(folder)


def main(folder: Path) -> None:
    """Write the whole model into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary, silent = write_tokenizer(folder)
    write_weights(folder, vocabulary, silent)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
