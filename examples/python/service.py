"""A FastAPI service: a request returns before the decision, and a webhook continues the call.

    uvicorn service:app

Set COUNTERSIGN_URL, COUNTERSIGN_AGENT_KEY and WEBHOOK_SECRET. The service keeps held calls in
jobs.sqlite.
"""

from __future__ import annotations

import json
import os
import sqlite3
from typing import Any

from countersign_sdk import (
    AsyncCountersign,
    GatewayUnavailable,
    NotExecuted,
    StillPending,
    WebhookRefused,
    verify_webhook,
)
from fastapi import FastAPI, Request, Response

app = FastAPI()
gate = AsyncCountersign()
jobs = sqlite3.connect("jobs.sqlite", check_same_thread=False, isolation_level=None)
jobs.execute("CREATE TABLE IF NOT EXISTS jobs (thread_id TEXT PRIMARY KEY, handle TEXT, result TEXT, claimed INTEGER)")
# the claims of an earlier process ended with it
jobs.execute("UPDATE jobs SET claimed = 0 WHERE result IS NULL")
ENDS = ("review.approved", "review.rejected", "review.expired", "review.withdrawn")


def refund(approved: dict[str, Any]) -> str:
    return f"refunded {approved['amount_cents'] / 100:.2f} for {approved['order']}"


@app.post("/refunds")
async def ask(body: dict[str, Any]) -> dict[str, Any]:
    try:
        handle = await gate.propose("payments.refund", body)
        if handle["status"] == "allow":
            return {"status": "done", "result": await gate.resume(handle, refund)}
    except NotExecuted as refused:
        return {"status": refused.code, "reason": str(refused)}
    jobs.execute("INSERT INTO jobs VALUES (?, ?, NULL, 0)", (handle["thread_id"], json.dumps(handle)))
    return {"status": "held", "thread_id": handle["thread_id"]}


@app.get("/refunds/{thread_id}")
async def show(thread_id: str) -> dict[str, Any]:
    found = jobs.execute("SELECT result FROM jobs WHERE thread_id = ?", (thread_id,)).fetchone()
    return {"status": "unknown"} if found is None else {"status": "done" if found[0] else "held", "result": found[0]}


@app.post("/webhook")
async def decided(request: Request) -> Response:
    try:
        message = verify_webhook(os.environ["WEBHOOK_SECRET"], request.headers, await request.body())
    except WebhookRefused:
        return Response(status_code=400)
    if message["type"] not in ENDS:
        return Response(status_code=204)
    return Response(status_code=await continued(message["thread_id"]))


async def continued(thread_id: str) -> int:
    """Continues the call of a thread. Returns 204, or 503 so that the gateway delivers the webhook again."""
    found = jobs.execute("SELECT handle, result FROM jobs WHERE thread_id = ?", (thread_id,)).fetchone()
    if found is None:
        return 503  # the request that proposed the call has not saved it yet
    handle, result = found
    if result is not None:
        return 204
    if jobs.execute("UPDATE jobs SET claimed = 1 WHERE thread_id = ? AND claimed = 0", (thread_id,)).rowcount == 0:
        return 503  # another delivery continues the call
    try:
        # the gateway delivers the proof once, so a repeated webhook does not run the call twice
        result = await gate.resume(json.loads(handle), refund, max_wait=0)
    except (StillPending, GatewayUnavailable):
        jobs.execute("UPDATE jobs SET claimed = 0 WHERE thread_id = ?", (thread_id,))
        return 503  # the call still waits
    except NotExecuted as refused:
        result = str(refused)
    except Exception as error:
        result = f"failed: {error}"
    jobs.execute("UPDATE jobs SET result = ? WHERE thread_id = ?", (result, thread_id))
    return 204
