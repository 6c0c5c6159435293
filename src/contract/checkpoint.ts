/**
 * Checkpoints of evidence on the wire (docs/operations.md and docs/evidence.md). Loaded only to generate
 * schemas/openapi.json.
 */
import { Type, type Static } from 'typebox'

export const CheckpointsQuery = Type.Object(
  {
    tenant: Type.String({ pattern: '^(_system|[a-z0-9-]{1,32})$' }),
    before: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,15}$',
        description: 'Only those of fewer records: for the next page.',
      }),
    ),
    limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
  },
  { additionalProperties: false },
)
export type CheckpointsQuery = Static<typeof CheckpointsQuery>

export const CheckpointList = Type.Object({
  origin: Type.String({ description: 'Names the log of this tenant; the first line of every note.' }),
  verifier_key: Type.String({
    description: 'C2SP signed-note verifier key: keep it where the gateway cannot write.',
  }),
  checkpoints: Type.Array(
    Type.Object({
      size: Type.Integer({ description: 'Number of the last record that it covers.' }),
      root: Type.String({ description: 'RFC 6962 Merkle tree hash, hex.' }),
      at: Type.String({ format: 'date-time' }),
      note: Type.String({ description: 'C2SP tlog-checkpoint, signed; keep it as it stands.' }),
    }),
    { description: 'Newest first. Of each hour the last one is kept.' },
  ),
})
export type CheckpointList = Static<typeof CheckpointList>

export const VerifierKeys = Type.Object({
  origin: Type.String({ description: 'What the origins of all tenants begin with.' }),
  keys: Type.Array(
    Type.Object({
      alg: Type.Enum(['Ed25519']),
      public_key: Type.String({ description: 'Base64 of the 32 bytes of RFC 8032.' }),
    }),
  ),
})
export type VerifierKeys = Static<typeof VerifierKeys>
