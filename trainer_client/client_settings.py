"""Settings of the client, each with its unit in its name. Plain values only, so that a client can be pickled."""

from __future__ import annotations

import os
from typing import Annotated, Any

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError, field_validator

from trainer_client.client_errors import RequestRefused

MIB = 1 << 20
TOKEN_VARIABLE = "VERIFIER_TOKEN"  # noqa: S105  the name of a variable, not a token
_URL = TypeAdapter(AnyHttpUrl)
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ClientSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    urls: tuple[str, ...] = Field(min_length=1, description="Base URLs of the replicas, such as http://127.0.0.1:8000.")
    token: SecretStr | None = Field(None, description=f"Bearer token; absent: the environment variable {TOKEN_VARIABLE}, if set.")

    deadline_s: Seconds = Field(120.0, description="Total time of a call that names no deadline.")
    connect_timeout_s: Seconds = Field(5.0, description="Time to open a connection.")
    attempt_share: float = Field(0.5, gt=0, le=1, description="Share of the time left that one attempt may take.")
    attempt_floor_s: Seconds = Field(5.0, description="But no attempt gets less than this, as far as time is left.")
    attempt_cap_s: Seconds = Field(300.0, description="Nor more than this, however long the deadline.")
    backoff_base_s: Seconds = Field(0.1, description="Ceiling of the first back-off is twice this.")
    backoff_cap_s: Seconds = Field(10.0, description="Highest ceiling of a back-off.")
    retry_after_cap_s: Seconds = Field(60.0, description="A Retry-After above this is read as this.")
    max_broken_answers: int = Field(
        3, ge=1, description="Answers that are no valid protocol (or a 500) after which a chunk is given up."
    )
    max_infrastructure_retries: int = Field(3, ge=0, description="Times that `unscored: infrastructure` is asked for again.")

    max_inflight: int = Field(8, ge=1, description="Requests in flight at one time.")
    chunk_bytes: int = Field(4 * MIB, ge=1024, description="Most bytes of one request (a single larger completion goes alone).")
    chunk_work: float = Field(2048.0, gt=0, description="Most work of one request, in units of one math completion.")
    max_response_bytes: int = Field(256 * MIB, ge=1024, description="An answer beyond this is refused.")

    breaker_failures: int = Field(5, ge=1, description="Failures in a row that open a replica's circuit.")
    breaker_open_s: Seconds = Field(1.0, description="First time that a circuit stays open; doubles each time.")
    breaker_open_cap_s: Seconds = Field(10.0, description="Longest time that a circuit stays open.")

    cache_entries: int = Field(16384, ge=0, description="Scored verdicts kept; 0 switches the cache off.")
    version_ttl_s: Seconds = Field(60.0, description="The cache is used only with a verifier version confirmed this recently.")
    trust_env: bool = Field(False, description="Obey HTTP_PROXY and its kin; off, since a proxy rarely reaches a service nearby.")

    @field_validator("urls", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        if not value:
            raise ValueError("name the service's base URL, such as http://127.0.0.1:8000")
        return (value,) if isinstance(value, str) else tuple(value)

    @field_validator("urls")
    @classmethod
    def _base_urls(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        bases = tuple(_base_url(url.strip()) for url in urls)
        if len(set(bases)) != len(bases):
            raise ValueError("the same replica is named twice")
        return bases

    def bearer_token(self) -> str | None:
        """The token to send; read when a connection pool is made, so that it need not travel in a pickle.

        Raises RequestRefused for what no header can carry.
        """
        token = (self.token.get_secret_value() if self.token is not None else os.environ.get(TOKEN_VARIABLE, "")).strip()
        if not all("!" <= character <= "~" for character in token):
            raise RequestRefused("the token has a character that is no printable ASCII, or white space in it", field="token")
        return token or None


def _base_url(url: str) -> str:
    if "@" in url:
        raise ValueError("a URL with a name or password in it would stand in logs; pass token= instead")
    try:
        parsed = _URL.validate_python(url)
    except ValidationError:
        raise ValueError(f"{url!r:.200} is no base URL: write it as http://127.0.0.1:8000, with its scheme") from None
    if parsed.query is not None or parsed.fragment is not None:
        raise ValueError(f"{url!r:.200} is no base URL: leave out what stands after ? and #")
    return url.rstrip("/").removesuffix("/v1/score").removesuffix("/score")
