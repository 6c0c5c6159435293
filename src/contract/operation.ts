/** One row of the API: what the OpenAPI document says of a route. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete'
  readonly path: string
  readonly id: string
  readonly plane: 'agent' | 'review' | 'admin' | 'public'
  readonly summary: string
  readonly query?: string
  readonly body?: string
  readonly headers?: readonly Header[]
  /** Of the answer, where they are for the caller to act on. */
  readonly answerHeaders?: readonly Header[]
  /** Status -> component, or null for no JSON body. */
  readonly answers: Readonly<Record<number, string | null>>
  readonly refusals: readonly number[]
}

export interface Header {
  readonly name: string
  readonly description: string
}
