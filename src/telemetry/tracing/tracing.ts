import {
  createTraceState,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span as RecordedSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import type { EvidenceRecord } from '../../gateway/core/event-record.ts'
import {
  carried,
  type Facts,
  type Origin,
  type Span,
  type TraceContext,
  traceIdOf,
  type Work,
} from '../../gateway/core/trace-context.ts'

export interface Tracing {
  begin(work: Work, received: TraceContext | undefined): Span
  /** Sends the waiting spans, within a second. */
  close(): Promise<void>
}

/** Records nothing. The span only passes on the caller's trace context. */
export const NO_TRACING: Tracing = {
  begin: (_, received) => carried(received),
  close: () => Promise.resolve(),
}

export function createTracing(tracer: Tracer, close: () => Promise<void>): Tracing {
  return { begin: (work, received) => new WorkSpan(tracer, work, received), close }
}

/** Work whose span is recorded only when it records a fact, because most polls find no change. */
const ONLY_WHEN_NOTED: ReadonlySet<Work> = new Set(['poll', 'reissue', 'revise'])

/**
 * A span that starts late, because the trace may be known only after the thread is read. Before the start, the span
 * collects attributes.
 */
class WorkSpan implements Span {
  readonly received: TraceContext | undefined
  readonly #tracer: Tracer
  readonly #work: Work
  readonly #startedAt = performance.now()
  readonly #facts: Record<string, string | number | boolean> = {}
  readonly #links: Link[] = []
  #parent: TraceContext | undefined
  #span: RecordedSpan | undefined
  #isNoted = false

  constructor(tracer: Tracer, work: Work, received: TraceContext | undefined) {
    this.#tracer = tracer
    this.#work = work
    this.received = received
    this.#parent = received
  }

  get traceId(): string | undefined {
    return this.#span?.spanContext().traceId ?? (this.#parent && traceIdOf(this.#parent))
  }

  context(): TraceContext | undefined {
    const span = this.#begun()
    return span.isRecording() ? contextOf(span.spanContext()) : this.received
  }

  goesOn(context: TraceContext | undefined): void {
    if (this.#parent === undefined && this.#span === undefined) this.#parent = context
    else this.refersTo(context)
  }

  refersTo(context: TraceContext | undefined): void {
    const referred = spanContextOf(context)
    if (referred === undefined) return
    if (this.#span) this.#span.addLink({ context: referred })
    else this.#links.push({ context: referred })
  }

  note(facts: Facts): void {
    this.#isNoted = true
    for (const [name, value] of Object.entries(facts))
      if (value !== undefined) this.#facts[`countersign.${name}`] = value
  }

  end(failure?: { readonly code: string; readonly ours: boolean }): void {
    if (!this.#isNoted && (failure === undefined || ONLY_WHEN_NOTED.has(this.#work)) && !this.#span) return
    const span = this.#begun()
    span.setAttributes(this.#facts)
    if (failure) span.setAttribute('error.type', failure.code)
    if (failure?.ours) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }

  #begun(): RecordedSpan {
    const parent = spanContextOf(this.#parent)
    this.#span ??= this.#tracer.startSpan(
      `countersign ${this.#work}`,
      {
        kind: this.#work === 'deliver' ? SpanKind.CLIENT : SpanKind.SERVER,
        startTime: this.#startedAt,
        links: this.#links,
      },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    )
    return this.#span
  }
}

function contextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const tracestate = traceState?.serialize()
  const flags = traceFlags.toString(16).padStart(2, '0')
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(tracestate === undefined || tracestate === '' ? {} : { tracestate }),
  }
}

function spanContextOf(context: TraceContext | undefined): SpanContext | undefined {
  if (context === undefined) return undefined
  const [, traceId = '', spanId = '', flags = '00'] = context.traceparent.split('-')
  const spanContext: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(context.tracestate === undefined ? {} : { traceState: createTraceState(context.tracestate) }),
  }
  return isSpanContextValid(spanContext) ? spanContext : undefined
}

/** Adds names and ids of a record to the span of its work. Payloads and values that rules read are never added. */
export function noteEvidence({
  record,
  origin,
}: {
  record: EvidenceRecord
  origin?: Origin | undefined
}): void {
  const { tenant, actor, task_id, thread_id, revision, tool } = record
  const { type, details } = record
  const reason = type === 'token.refused' ? details.reason : undefined
  origin?.span?.note({
    event: type,
    tenant,
    actor: `${actor.kind}:${actor.id}`,
    task_id,
    thread_id,
    revision,
    tool,
    ...(details !== undefined && 'risk' in details ? { risk: details.risk } : {}),
    ...(reason === undefined ? {} : { reason }),
  })
}
