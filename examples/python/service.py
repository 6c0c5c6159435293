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

from fastapi import FastAPI, Request, Response

from countersign import AsyncCountersign, NotExecuted, StillPending, WebhookRefused, verify_webhook

app = FastAPI()
gate = AsyncCountersign()
jobs = sqlite3.connect("jobs.sqlite", check_same_thread=False, isolation_level=None)
jobs.execute("CREATE TABLE IF NOT EXISTS jobs (thread_id TEXT PRIMARY KEY, handle TEXT, result TEXT)")


def refund(approved: dict[str, Any]) -> str:
    return f"refunded {approved['amount_cents'] / 100:.2f} for {approved['order']}"


@app.post("/refunds")
async def ask(body: dict[str, Any]) -> dict[str, Any]:
    try:
        handle = await gate.propose("payments.refund", body)
    except NotExecuted as refused:
        return {"status": refused.code, "reason": str(refused)}
    if handle["status"] == "allow":
        return {"status": "done", "result": await gate.resume(handle, refund)}
    jobs.execute("INSERT INTO jobs VALUES (?, ?, NULL)", (handle["thread_id"], json.dumps(handle)))
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
    thread_id = message.get("thread_id")
    found = jobs.execute("SELECT handle FROM jobs WHERE thread_id = ? AND result IS NULL", (thread_id,)).fetchone()
    if found is None or message["type"] not in ("review.approved", "review.rejected", "review.expired"):
        return Response(status_code=204)
    try:
        # the gateway delivers the proof once, so a repeated webhook does not run the call twice
        result = await gate.resume(json.loads(found[0]), refund, max_wait=0)
    except StillPending:
        return Response(status_code=503)
    except NotExecuted as refused:
        result = str(refused)
    jobs.execute("UPDATE jobs SET result = ? WHERE thread_id = ? AND result IS NULL", (result, thread_id))
    return Response(status_code=204)
