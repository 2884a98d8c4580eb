"""Weight sync to a colocated vLLM on a CPU.

There vLLM packs its weights for oneDNN and drops the originals, so that TRL's way (one `load_weights` for each parameter)
has nothing to load into. vLLM's own reload unpacks, loads and packs again, and takes the weights from an iterator.
"""

from __future__ import annotations

from types import MethodType
from typing import Any


def sync_through_reload(trainer: Any) -> None:
    """Makes the trainer's vLLM take new weights that way. Raises ValueError for tied embeddings, which reload gets wrong."""
    if trainer.model.config.get_text_config().tie_word_embeddings:
        raise ValueError(
            "vLLM's reload gets tied embeddings wrong: set tie_word_embeddings to false to train this model on a CPU"
        )
    trainer.vllm_generation.sync_weights = MethodType(_reload, trainer.vllm_generation)


def _reload(generation: Any) -> None:
    runner = generation.llm.llm_engine.model_executor.driver_worker.model_runner
    runner.reload_weights(weights_iterator=iter(generation._iter_named_params()))
    generation.llm.reset_prefix_cache()
