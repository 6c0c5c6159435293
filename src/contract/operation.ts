/**
 * Holds: the wire: schemas and their types, operations, error codes, limits, the strict JSON scan.
 * Imports: nothing.
 * Start: operations-agent.ts, then errors.ts.
 */
/** One row of the API: what the OpenAPI document says of a route. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete'
  readonly path: string
  readonly id: string
  readonly plane: 'agent' | 'review' | 'admin' | 'public'
  readonly summary: string
  readonly query?: string
  readonly body?: string
  /** The call may come without it. */
  readonly bodyIsOptional?: true
  readonly headers?: readonly Header[]
  /** Of the answer, where they are for the caller to act on. */
  readonly answerHeaders?: readonly Header[]
  readonly answers: Readonly<Record<number, Answer>>
  readonly refusals: readonly number[]
}

/** The component that the JSON of an answer is, what else it holds, or null for nothing. */
export type Answer = string | Media | null

export interface Media {
  /** The content type. */
  readonly media: string
  readonly description: string
}

export interface Header {
  readonly name: string
  readonly description: string
}
