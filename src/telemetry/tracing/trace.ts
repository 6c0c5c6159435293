import type { Exemplar } from '../count/instruments.ts'

/** The trace of a W3C traceparent (version 00), as an exemplar holds it. */
export function traceOf(traceparent: string | undefined): Exemplar | undefined {
  return traceparent === undefined ? undefined : { trace_id: traceparent.slice(3, 35) }
}
