import type { ServerResponse } from 'node:http'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { REVIEW } from '../../contract/operations/review.ts'
import type { Caller } from '../../gateway/core/caller.ts'
import { reviewerInForce } from '../../gateway/auth/identify.ts'
import { reviewerEntry } from '../../gateway/auth/standing.ts'
import {
  createThreadFeed,
  type FeedMessage,
  type Place,
  type ThreadFeed,
} from '../../gateway/review/stream.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Handlers } from '../core/handler.ts'
import { lineOf } from '../core/tracing.ts'

/**
 * Time between two comments of a stream, ms. The comments keep proxies from closing the connection, and allow the
 * gateway to notice a revoked credential.
 */
export const BEAT_MS = 4_000
/**
 * Maximum number of unsent bytes for a reader. The gateway disconnects a reader that exceeds this number. The reader
 * then resumes after the last event that it received.
 */
const BACKLOG_BYTES = 1024 * 1024

/**
 * Handles GET stream (docs/review-api.md): server-sent events (HTML standard, section 9.2), resumable by Last-Event-ID.
 */
export function streamHandler(http: HttpDeps): Handlers<typeof REVIEW>['stream'] {
  const feed = createThreadFeed(http.gateway)
  const seats = createSeats()
  return async ({ caller, lastEventId, request, reply }) => {
    reviewerEntry(http.gateway.policies.current(), caller)
    const leave = seats.take(`${caller.tenant}/${caller.id}`)
    http.admission.leave(reply.raw)
    const wait = http.waits.holdStream(request)
    reply.hijack()
    const { raw } = reply
    // the answer may end although its connection stays open
    const over = new AbortController()
    raw.once('close', () => over.abort())
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    const beat = setInterval(() => void keepAlive(http, caller, raw), http.streamBeatMs)
    try {
      await pour(feed.follow(caller, lastEventId, AbortSignal.any([wait.signal, over.signal])), raw)
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'unauthenticated') signOut(raw)
      else request.log.warn({ ...lineOf(request), err: error }, 'a stream ended early; its reader resumes')
    } finally {
      clearInterval(beat)
      wait.release()
      leave()
      raw.end()
    }
    return undefined
  }
}

async function pour(messages: ReturnType<ThreadFeed['follow']>, raw: ServerResponse): Promise<void> {
  for await (const message of messages) {
    if (raw.destroyed || raw.writableEnded) return
    raw.write(textOf(message))
    if (raw.writableLength > BACKLOG_BYTES) raw.destroy()
  }
}

function textOf(message: FeedMessage): string {
  const id = idOf(message.place)
  if (message.kind !== 'change') return `id: ${id}\nevent: ${message.kind}\ndata: {}\n\n`
  // JSON text contains no line breaks
  return `id: ${id}\nevent: thread\ndata: ${JSON.stringify(message.change)}\n\n`
}

/** The number of the evidence record and its commit, `17-mFJ3...`; `0` before the first record. */
const idOf = ({ number, commitId }: Place): string =>
  commitId === undefined ? String(number) : `${number}-${commitId}`

async function keepAlive(http: HttpDeps, caller: Caller, raw: ServerResponse): Promise<void> {
  try {
    await reviewerInForce(http.gateway, caller)
    reviewerEntry(http.gateway.policies.current(), caller)
    if (!raw.writableEnded) raw.write(': still here\n\n')
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'unauthenticated') signOut(raw)
    raw.end()
  }
}

function signOut(raw: ServerResponse): void {
  if (!raw.writableEnded) raw.end('event: signed_out\ndata: {}\n\n')
}

/** Counts open streams, with a limit for each reviewer. */
function createSeats(): { take(who: string): () => void } {
  const taken = new Map<string, number>()
  let all = 0
  return {
    take(who) {
      const own = taken.get(who) ?? 0
      if (own >= LIMITS.STREAMS_PER_REVIEWER || all >= LIMITS.STREAMS)
        throw new GatewayError('rate_limited', 'too many streams are open', { retryAfter: 5 })
      taken.set(who, own + 1)
      all += 1
      return () => {
        all -= 1
        const left = (taken.get(who) ?? 1) - 1
        if (left === 0) taken.delete(who)
        else taken.set(who, left)
      }
    },
  }
}
