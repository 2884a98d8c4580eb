"""The YAML file of a run. Unknown fields are refused by name; what belongs to TRL stands under `grpo` in TRL's own words."""

from __future__ import annotations

import difflib
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from trainer_client.curriculum.tracker import CurriculumSettings

PRESETS = Path(__file__).resolve().parent.parent / "presets"
Share = Annotated[float, Field(ge=0, le=1)]


class ConfigError(ValueError):
    """The configuration can't be run; the message says what to change."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataConfig(Section):
    """path: a .jsonl, .json, .csv or .parquet file, or the name of a data set on the Hugging Face hub."""

    path: str
    name: str | None = Field(None, description="Configuration of a hub data set, such as `main`.")
    split: str = "train"
    prompt_column: str = "prompt"
    chat: bool = Field(True, description="Make a user message of a prompt that is a plain string.")
    system_prompt: str | None = None
    limit: int | None = Field(None, ge=1, description="Take the first so many rows.")


def _usual_verifiers() -> list[str | dict[str, JsonValue]] | None:
    return ["math", {"kind": "format", "weight": 0.2}]


class RewardConfig(Section):
    url: str | list[str] = "http://127.0.0.1:8000"
    verifiers: list[str | dict[str, JsonValue]] | None = Field(
        default_factory=_usual_verifiers,
        description="Kinds or specs; the gold and the tests come from the data set. null: told by its columns.",
    )
    gold_column: str | None = None
    deadline_s: float = Field(240.0, gt=0, description="Of a step's rewards; keep it below the process group's time-out.")
    ready_wait_s: float = Field(60.0, ge=0)
    max_unscored_share: Share = 0.25
    max_bad_task_share: Share = 0.5
    pass_reward: float | None = Field(None, description="Reward from which a completion counts as solved; null: full marks.")


class CurriculumConfig(Section):
    """`enabled`, and the fields of CurriculumSettings (docs/curriculum.md)."""

    enabled: bool = True
    band_low: Share = 0.2
    band_high: Share = 0.8
    target: Share = 0.5
    decay: float = 0.5
    prior_solved: float = 1.0
    prior_failed: float = 1.0
    explore_share: Share = 0.125
    retest_share: Share = 0.0625
    retire_after: int = 2
    retest_after: int = 50
    resampling_rounds: int = Field(1, ge=1, description="Above 1: groups without spread are generated anew (DAPO).")

    def settings(self) -> CurriculumSettings | None:
        """None where switched off. Raises ValueError for settings that contradict one another."""
        names = [field.name for field in fields(CurriculumSettings)]
        settings = CurriculumSettings(**{name: getattr(self, name) for name in names})
        return settings if self.enabled else None


class LoraSection(Section):
    r: int = Field(32, ge=1)
    alpha: int = Field(64, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: str | list[str] = "all-linear"


class VllmConfig(Section):
    """mode: `off` generates with transformers, `colocate` on the training GPUs, `server` at `server_url`."""

    mode: Literal["off", "colocate", "server"] = "off"
    gpu_memory_utilization: float = Field(0.3, gt=0, lt=1)
    tensor_parallel_size: int = Field(1, ge=1)
    max_model_length: int | None = Field(None, ge=1)
    enable_sleep_mode: bool = False
    server_url: str | None = None

    @field_validator("mode", mode="before")
    @classmethod
    def _off_is_a_word(cls, mode: object) -> object:
        return "off" if mode is False else mode  # to YAML, off is false

    @model_validator(mode="after")
    def _server_has_url(self) -> VllmConfig:
        if self.mode == "server" and self.server_url is None:
            raise ValueError("mode `server` needs server_url; start one with `trl vllm-serve --model …`")
        return self


class DistributedConfig(Section):
    gpus: int = Field(1, ge=1, le=1024, description="Processes that train, one a GPU (vLLM's server has its own).")
    strategy: Literal["none", "ddp", "zero2", "zero3", "fsdp"] = "none"
    gpu_memory_gib: float = Field(80.0, gt=0)

    @model_validator(mode="after")
    def _several_gpus_need_a_strategy(self) -> DistributedConfig:
        if self.gpus > 1 and self.strategy == "none":
            raise ValueError("several GPUs need a strategy: ddp, zero2, zero3 or fsdp")
        return self


class TrainConfig(Section):
    model: str = Field(description="A folder, or a model's name on the hub.")
    model_params: float | None = Field(None, gt=0, description="Parameters, for the memory plan; absent: told by the model.")
    output_dir: str
    seed: int = 42
    resume: bool | str = Field(True, description="True: from the last checkpoint in output_dir if there is one; or a folder.")
    report_to: list[Literal["tensorboard", "trackio", "wandb"]] = ["tensorboard"]
    data: DataConfig
    reward: RewardConfig = RewardConfig()
    curriculum: CurriculumConfig = CurriculumConfig()
    lora: LoraSection | None = None
    vllm: VllmConfig = VllmConfig()
    distributed: DistributedConfig = DistributedConfig()
    grpo: dict[str, JsonValue] = Field(default={}, description="Fields of TRL's GRPOConfig.")

    @model_validator(mode="after")
    def _curriculum_is_sound(self) -> TrainConfig:
        self.curriculum.settings()
        return self

    def grpo_number(self, name: str, default: float) -> float:
        value = self.grpo.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"grpo.{name} must be a number, not {value!r}")
        return value


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def load_config(source: str, changes: list[str] | None = None) -> TrainConfig:
    """Read a file, or a preset by name, with `section.field=value` changes (values are YAML).

    Raises ConfigError, one line a fault.
    """
    raw = _read(source)
    for change in changes or []:
        _apply(raw, change)
    try:
        return TrainConfig.model_validate(raw)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, fault['loc'])) or 'the file'}: {_reason(fault)}" for fault in error.errors()]
        raise ConfigError("\n".join(lines)) from None


def _read(source: str) -> dict[str, Any]:
    import yaml  # here, so that plan and presets need no more than the service's packages

    path = Path(source)
    if not path.exists() and source in preset_names():
        path = PRESETS / f"{source}.yaml"
    if not path.is_file():
        near = difflib.get_close_matches(source, preset_names(), 1)
        hint = f"did you mean the preset {near[0]}?" if near else f"presets: {', '.join(preset_names())}"
        raise ConfigError(f"{source} is neither a file nor a preset; {hint}")
    try:
        raw = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no valid YAML: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold a mapping, such as `model: …`")
    return raw


def _apply(raw: dict[str, Any], change: str) -> None:
    import yaml

    name, equals, text = change.partition("=")
    if not equals or not name:
        raise ConfigError(f"--set takes section.field=value, not {change!r}")
    at = raw
    *sections, last = name.split(".")
    for section in sections:
        at = at.setdefault(section, {})
        if not isinstance(at, dict):
            raise ConfigError(f"--set {name}: {section} is no section")
    try:
        at[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {name}: no valid YAML value: {error}") from None


def _reason(fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        known = sorted({*TrainConfig.model_fields, *_section_fields()})
        near = difflib.get_close_matches(str(fault["loc"][-1]), known, 1)
        return "no such field" + (f"; did you mean {near[0]}?" if near else "")
    return str(fault["msg"]).removeprefix("Value error, ")


def _section_fields() -> list[str]:
    sections = (DataConfig, RewardConfig, CurriculumConfig, LoraSection, VllmConfig, DistributedConfig)
    return [name for section in sections for name in section.model_fields]
