/** The admin API on the wire (design.md section 6). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'

export const IssuedKey = Type.Object({
  api_key: Type.String({ description: 'Shown once; only its hash is kept.' }),
  tenant: Type.String(),
  id: Type.String(),
  rotated: Type.Boolean({
    description: 'An earlier key was revoked by this call, and its approval tokens with it.',
  }),
})
export type IssuedKey = Static<typeof IssuedKey>

export const DiagnosticView = Type.Object({
  code: Type.String(),
  severity: Type.Enum(['error', 'warning']),
  file: Type.String(),
  line: Type.Integer(),
  column: Type.Integer(),
  message: Type.String(),
  hint: Type.Optional(Type.String()),
})
export type DiagnosticView = Static<typeof DiagnosticView>

export const PoliciesView = Type.Object({
  in_force: Type.Boolean(),
  revision: Type.Optional(Type.String({ description: 'SHA-256 over the bundle in force.' })),
  commit: Type.Optional(Type.String()),
  loaded_at: Type.Optional(Type.String({ format: 'date-time' })),
  files: Type.Array(Type.Object({ path: Type.String(), sha256: Type.String(), bytes: Type.Integer() })),
  tools: Type.Integer(),
  rules: Type.Integer(),
  last_load: Type.Object({
    ok: Type.Boolean(),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    revision: Type.Optional(Type.String()),
    diagnostics: Type.Array(DiagnosticView),
  }),
  shadow: Type.Record(Type.String(), Type.Integer(), {
    description: 'Calls each shadow rule would have touched since start.',
  }),
})
export type PoliciesView = Static<typeof PoliciesView>

export const EvidenceQuery = Type.Object(
  {
    tenant: Type.String({ pattern: '^(_system|[a-z0-9-]{1,32})$' }),
    after: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
    limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
  },
  { additionalProperties: false },
)
export type EvidenceQuery = Static<typeof EvidenceQuery>
