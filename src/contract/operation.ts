/**
 * An endpoint, which is an entry of a table in `operations/`. Routes, the OpenAPI document, docs/reference/api.md,
 * clients, admission and traces derive from the table. The code compiles only when every entry has a handler
 * (src/http/core/handler.ts).
 */
import type { ComponentName, Components } from './components.ts'
import type { ErrorCode } from './errors.ts'

export interface Operation {
  readonly method: Method
  /** Parameters are in braces. */
  readonly path: `/${string}`
  readonly access: Access
  /** The lane in the queue for admission (src/http/admission/request.ts); `people` when absent. */
  readonly admission?: RequestKind | 'none'
  readonly summary: string
  readonly query?: ComponentName
  readonly body?: ComponentName
  /** The body may be missing. */
  readonly bodyIsOptional?: true
  /** Maximum size of the body; the gateway's limit when absent. */
  readonly bodyBytes?: number
  /** The handler checks body and query itself; the gateway accepts any form. */
  readonly lenient?: boolean
  readonly headers?: readonly RequestHeader[]
  /** The page sends this request automatically, so it does not keep a session alive. */
  readonly unattended?: true
  /** True when there is no HEAD route, because HEAD would cause an act or hold the connection. */
  readonly noHead?: true
  readonly answers: Readonly<Record<number, Answer>>
  /** Headers of the answer that callers use. */
  readonly answerHeaders?: readonly Header[]
  /** The error codes beyond those that every operation with this method, access, query and body has (`refusalsOf`). */
  readonly refusals: readonly ErrorCode[]
}

export type Operations = Readonly<Record<string, Operation>>

export type Method = 'GET' | 'POST' | 'DELETE'

/**
 * The callers of an operation.
 *
 * - `agent`: an agent by its key
 * - `reviewer`: a reviewer by key or session
 * - `admin`: the admin key, or a reviewer with the admin role in the same tenant
 * - `adminKey`: only the admin key
 * - `adminOrReviewer`: as `admin`, and every other reviewer
 * - `page`: every page of this gateway
 * - `public`: every caller
 */
export type Access = 'agent' | 'reviewer' | 'admin' | 'adminKey' | 'adminOrReviewer' | 'page' | 'public'

/**
 * The kinds of requests: agents submit calls (`propose`) and follow up on them (`follow`), and `people` have separate
 * places. Probes need no place.
 */
export const REQUEST_KINDS = ['propose', 'follow', 'people'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

/** The component of a JSON answer, another media type, or null for an empty answer. */
export type Answer = ComponentName | Media | null

export interface Media {
  /** The content type. */
  readonly media: string
  readonly description: string
}

export interface Header {
  readonly name: string
  readonly description: string
}

/** Headers that handlers read (src/http/core/request-headers.ts). */
export type RequestHeader = 'idempotencyKey' | 'wait' | 'ifMatch' | 'unattended' | 'lastEventId'

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** Values for the braces of a path. */
export type ParamsOf<Path extends string> = { readonly [Name in ParamNames<Path>]: string }

export type ComponentOf<Name> = Name extends ComponentName ? Components[Name] : undefined

/** The client's input apart from the credential. */
export type Asked<O extends Operation> = ([ParamNames<O['path']>] extends [never]
  ? unknown
  : { readonly params: ParamsOf<O['path']> }) &
  (O extends { readonly query: infer Name } ? { readonly query: ComponentOf<Name> } : unknown) &
  (O extends { readonly body: infer Name }
    ? O extends { readonly bodyIsOptional: true }
      ? { readonly body?: ComponentOf<Name> | undefined }
      : { readonly body: ComponentOf<Name> }
    : unknown)

/** The client's answer, by component; undefined for an answer without a body. */
export type Answered<O extends Operation> = ComponentOf<O['answers'][keyof O['answers']]>

/** The path with its parameters and query filled in. */
export function pathTo(
  { path }: Pick<Operation, 'path'>,
  { params = {}, query = {} }: { readonly params?: object; readonly query?: object },
): string {
  const values = new Map(Object.entries(params) as [string, string][])
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values.get(name) ?? ''),
  )
  const search = new URLSearchParams(
    Object.entries(query as Record<string, string | undefined>).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  ).toString()
  return search === '' ? filled : `${filled}?${search}`
}
