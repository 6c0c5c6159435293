/**
 * Checkpoints of evidence on the wire (docs/operations.md and docs/evidence.md). Loaded only to generate
 * schemas/openapi.json.
 */
import { Type, type Static } from 'typebox'
import { LIMITS } from './limits.ts'

export const CheckpointsQuery = Type.Object(
  {
    tenant: Type.String({ pattern: '^(_system|[a-z0-9-]{1,32})$' }),
    before: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,15}$',
        description: 'Only checkpoints of fewer records. For the next page.',
      }),
    ),
    limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
  },
  { additionalProperties: false },
)
export type CheckpointsQuery = Static<typeof CheckpointsQuery>

export const CheckpointList = Type.Object({
  origin: Type.String({ description: 'Name of the log of this tenant, and first line of every note.' }),
  verifier_key: Type.String({
    description: 'C2SP signed-note verifier key. Keep it where the gateway cannot write.',
  }),
  checkpoints: Type.Array(
    Type.Object({
      size: Type.Integer({ description: 'Number of the last covered record.' }),
      root: Type.String({ description: 'RFC 6962 Merkle tree hash, hex.' }),
      at: Type.String({ format: 'date-time' }),
      note: Type.String({ description: 'Signed C2SP tlog-checkpoint. Keep it unchanged.' }),
    }),
    { description: 'Newest first. The gateway keeps the last checkpoint of each hour.' },
  ),
})
export type CheckpointList = Static<typeof CheckpointList>

export const LogRequest = Type.Object(
  {
    tenant: Type.String({ pattern: '^(_system|[a-z0-9-]{1,32})$' }),
    reason: Type.String({
      minLength: 1,
      maxLength: LIMITS.FREEZE_REASON_CHARS,
      pattern: '\\S',
      description: 'Kept as evidence.',
    }),
  },
  { additionalProperties: false },
)
export type LogRequest = Static<typeof LogRequest>

export const LogStarted = Type.Object({
  log: Type.Integer({ description: 'Number of the new log. Its tiles are in a folder of this name.' }),
  origin: Type.String({ description: 'Name of the new log, and first line of its notes.' }),
  verifier_key: Type.String({ description: 'C2SP signed-note verifier key of the new log.' }),
  previous_verifier_key: Type.String({ description: 'The key of the log before.' }),
  previous: Type.String({
    description: 'The last note of the log before. The record `log.started` has it too.',
  }),
})
export type LogStarted = Static<typeof LogStarted>

export const LossRequest = Type.Object(
  {
    ...LogRequest.properties,
    before: Type.Integer({
      minimum: 257,
      description: 'The first record after the lost ones. Only files of whole 256 records get lost.',
    }),
    preview: Type.Optional(
      Type.Boolean({ description: 'True to ask every gateway what it cannot read, and to change nothing.' }),
    ),
  },
  { additionalProperties: false },
)
export type LossRequest = Static<typeof LossRequest>

export const LossView = Type.Object({
  waiting: Type.Array(Type.String(), { description: 'Hosts of gateways that have not answered yet.' }),
  lost: Type.Array(
    Type.Object({
      from: Type.Integer({ description: 'Number of the first lost record.' }),
      to: Type.Integer({ description: 'Number of the last lost record.' }),
      until: Type.String({ format: 'date-time', description: 'Time of the last lost record.' }),
    }),
    { description: 'What no gateway can read; empty while one has not answered.' },
  ),
})
export type LossView = Static<typeof LossView>

export const VerifierKeys = Type.Object({
  origin: Type.String({ description: 'Common beginning of the origins of all tenants.' }),
  keys: Type.Array(
    Type.Object({
      alg: Type.Enum(['Ed25519']),
      public_key: Type.String({ description: 'Base64 of the 32 bytes of RFC 8032.' }),
    }),
  ),
})
export type VerifierKeys = Static<typeof VerifierKeys>
