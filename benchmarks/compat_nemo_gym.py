"""One rollout by NeMo Gym's own parts, with this service as its resources server; run by an interpreter that has `nemo-gym`.

    PYTHON_OF_NEMO_GYM benchmarks/compat_nemo_gym.py URL PROGRAM

Its rollout collection asks its simple agent, which asks a model (here: one that answers with what it was asked, fenced) and
then /seed_session, /verify and /aggregate_metrics of the service, and checks each answer with its own models. Prints the
reward and the aggregated mean as JSON, or what the collection raised.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.rollout_collection import RolloutCollectionHelper
from nemo_gym.server_utils import GlobalAIOHTTPAsyncClientConfig, ServerClient, set_global_aiohttp_client
from omegaconf import OmegaConf
from responses_api_agents.simple_agent.app import SimpleAgent, SimpleAgentConfig

AGENT, MODEL, VERIFIER = "agent", "model", "verifier"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answering_model() -> FastAPI:
    app = FastAPI()

    @app.post("/v1/responses")
    async def respond(asked: dict[str, Any]) -> dict[str, Any]:
        said = asked["input"] if isinstance(asked["input"], str) else asked["input"][-1]["content"]
        part = {"type": "output_text", "text": f"```python\n{said}\n```", "annotations": []}
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
        settings = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
        return settings | {"id": "r", "created_at": 0.0, "model": "fenced", "object": "response", "output": [message]}

    return app


async def serve(app: FastAPI, port: int) -> None:
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        assert not serving.done(), "the server did not start"
        await asyncio.sleep(0.02)


async def collect(url: str, program: str) -> dict[str, Any]:
    place = urllib.parse.urlparse(url)
    ports = {AGENT: free_port(), MODEL: free_port(), VERIFIER: place.port}
    kinds = {AGENT: "responses_api_agents", MODEL: "responses_api_models", VERIFIER: "resources_servers"}
    hosts = {AGENT: "127.0.0.1", MODEL: "127.0.0.1", VERIFIER: place.hostname}
    servers = {n: {kinds[n]: {n: {"host": hosts[n], "port": ports[n]}}} for n in kinds}
    client = ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=free_port()), global_config_dict=OmegaConf.create(servers)
    )
    set_global_aiohttp_client(GlobalAIOHTTPAsyncClientConfig())
    config = SimpleAgentConfig(
        name=AGENT,
        host="127.0.0.1",
        port=ports[AGENT],
        entrypoint="app.py",
        resources_server={"type": kinds[VERIFIER], "name": VERIFIER},
        model_server={"type": kinds[MODEL], "name": MODEL},
    )
    await serve(answering_model(), ports[MODEL])
    await serve(SimpleAgent(config=config, server_client=client).setup_webserver(), ports[AGENT])

    class Collection(RolloutCollectionHelper):
        def setup_server_client(self, head_server_config: BaseServerConfig | None = None) -> ServerClient:
            del head_server_config  # there is no head server to ask for the configuration
            return client

    tests = {"inputs": ["2", "3", "10"], "outputs": ["4", "6", "20"], "fn_name": None}
    row = {
        "responses_create_params": {"input": [{"role": "user", "content": program}]},
        "verifier_metadata": {"unit_tests": tests},
        "agent_ref": {"type": kinds[AGENT], "name": AGENT},
        "_ng_task_index": 0,
        "_ng_rollout_index": 0,
    }
    collection = Collection()
    done = [await future for future in collection.run_examples([row])]
    rows, results = [r for r, _ in done], [result | {k: r[k] for k in row if k.startswith("_ng_")} for r, result in done]
    with tempfile.TemporaryDirectory() as folder:
        written = await collection._call_aggregate_metrics(results, rows, Path(folder) / "rollouts.jsonl")
        aggregated = json.loads(written.read_text()) if written is not None else None
    return {"reward": results[0]["reward"], "aggregated": aggregated[0]["key_metrics"] if aggregated else None}


if __name__ == "__main__":
    try:
        print(json.dumps(asyncio.run(collect(sys.argv[1], sys.argv[2]))))
    except Exception as error:  # noqa: BLE001 - whatever the collection raises is what its user ends up with
        print(json.dumps({"raises": f"{type(error).__name__}: {error}"[:200]}))
