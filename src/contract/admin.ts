/** The admin API on the wire (docs/operations.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { DecisionRequest, RiskLevel } from './agent.ts'

export const IssuedKey = Type.Object({
  api_key: Type.String({ description: 'Shown once; only its hash is kept.' }),
  tenant: Type.String(),
  id: Type.String(),
  rotated: Type.Boolean({
    description:
      'Whether there was an old key. The old key and its proofs are void unless `old_key_until` is set.',
  }),
  old_key_until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the old key expires. Until then, both keys work.',
    }),
  ),
})
export type IssuedKey = Static<typeof IssuedKey>

export const IssueKey = Type.Object(
  {
    overlap_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 7 * 24 * 3_600_000,
        description: 'Time in which the old key still works. Default: 0.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type IssueKey = Static<typeof IssueKey>

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
  withdrawals: Type.Optional(
    Type.String({
      description: 'What a newer directory takes away while its bundle does not load, as one line.',
    }),
  ),
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
    description: 'For each shadow rule, the number of calls for which it has fired since the start.',
  }),
})
export type PoliciesView = Static<typeof PoliciesView>

export const InstancesView = Type.Object({
  instances: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Id of this start of the gateway.' }),
      host: Type.String(),
      version: Type.String(),
      started_at: Type.String({ format: 'date-time' }),
      seen_at: Type.String({
        format: 'date-time',
        description: 'Its last report. The entry is removed after half a minute.',
      }),
      revision: Type.Optional(Type.String({ description: 'SHA-256 over its bundle in force.' })),
      commit: Type.Optional(Type.String()),
      loaded_at: Type.Optional(Type.String({ format: 'date-time' })),
      withdrawals: Type.Optional(
        Type.String({
          description: 'What a newer directory takes away while its bundle does not load, as one line.',
        }),
      ),
      tiles_unreadable: Type.Optional(
        Type.String({ description: 'The tiles that it cannot read, and since when, as one line.' }),
      ),
      load_ok: Type.Boolean({ description: 'Whether its last load succeeded.' }),
      load: Type.Union([Type.Literal('loading'), Type.Literal('loaded'), Type.Literal('failed')], {
        description: 'Its last load; `loading` before the end of the first.',
      }),
    }),
  ),
})
export type InstancesView = Static<typeof InstancesView>

export const SettingsView = Type.Object({
  node: Type.Object({ node: Type.String(), llhttp: Type.Optional(Type.String()) }),
  settings: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Its variable, such as `COUNTERSIGN_PORT`.' }),
      value: Type.String({ description: 'As text; empty when absent, `********` for a secret.' }),
      origin: Type.Union([
        Type.Literal('flag'),
        Type.Literal('environment'),
        Type.Literal('file'),
        Type.Literal('default'),
      ]),
    }),
  ),
  unknown: Type.Array(Type.String(), {
    description: 'Variables that begin with `COUNTERSIGN_` and are no settings.',
  }),
  without_effect: Type.Array(Type.Object({ name: Type.String(), counts: Type.String() }), {
    description: 'Settings with a value that has no effect, and when it would have one.',
  }),
})
export type SettingsView = Static<typeof SettingsView>

export const RuleFileQuery = Type.Object(
  { path: Type.String({ minLength: 1, maxLength: 1_024, description: 'Such as `rules/email.send.yaml`.' }) },
  { additionalProperties: false },
)
export type RuleFileQuery = Static<typeof RuleFileQuery>

export const RuleFileView = Type.Object({
  path: Type.String(),
  text: Type.String(),
  revision: Type.String({ description: 'SHA-256 over the bundle in force.' }),
})
export type RuleFileView = Static<typeof RuleFileView>

export const EvidenceQuery = Type.Object(
  {
    tenant: Type.String({ pattern: '^(_system|[a-z0-9-]{1,32})$' }),
    after: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
    limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
    disclosures: Type.Optional(
      Type.Literal('true', { description: 'Adds the disclosures of each record that still has some' }),
    ),
  },
  { additionalProperties: false },
)
export type EvidenceQuery = Static<typeof EvidenceQuery>

/** Tools that were allowed or approved before, and the labels of their contracts. */
const Before = {
  tools: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
  labels: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
}

export const ExplainRequest = Type.Object(
  {
    ...DecisionRequest.properties,
    agent: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9-]{1,32}/[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
        description:
          'TENANT/AGENT. Default: `test/test`. An agent that is missing from the directory counts as permitted to use the tool.',
      }),
    ),
    task: Type.Optional(
      Type.Object(
        {
          workflow: Type.Optional(Type.String()),
          label: Type.Optional(Type.String()),
          subject: Type.Optional(Type.String()),
          ...Before,
        },
        { additionalProperties: false },
      ),
    ),
    agent_history: Type.Optional(
      Type.Object(Before, {
        additionalProperties: false,
        description: 'Tools and labels of the calls that the agent was allowed in the last 24 hours.',
      }),
    ),
    used: Type.Optional(
      Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
        description: 'Earlier charges to limits, by id. Default: none.',
      }),
    ),
    time: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the call. Default: now.' })),
  },
  {
    additionalProperties: false,
    description: 'A DecisionRequest, with the agent, the task, the history and the time.',
  },
)
export type ExplainRequest = Static<typeof ExplainRequest>

const Verdict = Type.Enum(['allow', 'review', 'reject'])
const Mode = Type.Enum(['enforced', 'shadow'])
const Answer = Type.Enum(['yes', 'no', 'cannot tell'])
/** Refers to a component by its name, because conditions are recursive. */
const Conditions = Type.Unsafe<unknown>({ $ref: '#/components/schemas/ConditionView' })

export const ConditionView = Type.Object({
  kind: Type.Enum(['all', 'any', 'not', 'test']),
  answer: Answer,
  items: Type.Optional(Type.Array(Conditions, { description: 'Parts of `all`, `any` and `not`.' })),
  field: Type.Optional(
    Type.String({ description: 'Field of a test. All later members also belong to tests only.' }),
  ),
  test: Type.Optional(Type.String()),
  read: Type.Optional(
    Type.String({ description: 'JSON text of the value read, `missing`, or `(sensitive)`.' }),
  ),
  returned: Type.Optional(
    Type.String({ description: "Result of the field's function, such as `[with, select]`." }),
  ),
  problem: Type.Optional(Type.String()),
})
export type ConditionView = Static<typeof ConditionView>

const Rule = {
  id: Type.String(),
  verdict: Verdict,
  mode: Mode,
  reason: Type.String(),
  file: Type.String(),
  line: Type.Integer(),
}

export const ExplanationView = Type.Object({
  revision: Type.String(),
  outcome: Type.Object({
    verdict: Verdict,
    risk: RiskLevel,
    policyRisk: RiskLevel,
    message: Type.String(),
    by: Type.Array(Type.String()),
    fired: Type.Array(Type.Object({ ...Rule, unknown: Type.Boolean() })),
    requirement: Type.Optional(
      Type.Object({
        seats: Type.Array(
          Type.Object({
            group: Type.String(),
            approvals: Type.Integer(),
            escalate: Type.Array(Type.Object({ group: Type.String(), after_ms: Type.Integer() })),
          }),
        ),
        expires_ms: Type.Integer(),
        remind_after_ms: Type.Array(Type.Integer()),
        working: Type.Optional(
          Type.Object(
            {
              timezone: Type.String(),
              days: Type.Array(Type.String()),
              opens: Type.Integer({ description: 'Minutes after midnight.' }),
              closes: Type.Integer(),
              holidays: Type.Array(Type.String()),
            },
            { description: 'Every time counts only in these hours.' },
          ),
        ),
        interactive: Type.Optional(Type.Boolean()),
        require_comment: Type.Optional(Type.Boolean()),
        require_displayed: Type.Optional(Type.Boolean()),
      }),
    ),
    reads: Type.Array(
      Type.Object({
        field: Type.String(),
        state: Type.Enum(['value', 'missing']),
        value: Type.Optional(Type.Unknown({ description: 'Absent if the field is sensitive.' })),
        sensitive: Type.Boolean(),
      }),
    ),
    fault: Type.Optional(Type.Enum(['engine_error', 'engine_mismatch'])),
    shadow: Type.Optional(
      Type.Object(
        { verdict: Verdict, risk: RiskLevel },
        { description: 'The outcome with every shadow rule and limit enforced.' },
      ),
    ),
  }),
  rules: Type.Array(
    Type.Object({
      ...Rule,
      result: Type.Enum(['fired', 'not fired', 'cannot tell', 'not yet', 'over']),
      fired: Type.Boolean(),
      conditions: Conditions,
    }),
    { description: 'Every rule that applies to the tool, in id order.' },
  ),
  limits: Type.Array(
    Type.Object({
      ...Rule,
      result: Type.Enum(['room', 'full', 'cannot tell', 'not used']),
      amount: Type.Optional(Type.Integer({ description: 'Amount of this call; absent if it is sensitive.' })),
      at_most: Type.Integer(),
      within_ms: Type.Integer(),
      per: Type.String({ description: '`agent`, `tenant`, `task`, or a field.' }),
    }),
    { description: 'Every limit that applies to the tool.' },
  ),
})
export type ExplanationView = Static<typeof ExplanationView>

export const RaisedRequest = Type.Object(
  {
    tenant: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
    payload: Type.Record(Type.String(), Type.String(), {
      description: 'The files of a bundle that does not take effect: path to text.',
    }),
  },
  { additionalProperties: false },
)
export type RaisedRequest = Static<typeof RaisedRequest>

export const RaisedThreads = Type.Object({
  threads: Type.Array(
    Type.Object({ thread_id: Type.String(), asks: Type.String(), fillable: Type.Boolean() }),
  ),
  examined: Type.Integer({ description: 'Threads that wait or have an approval that was not collected.' }),
})
export type RaisedThreads = Static<typeof RaisedThreads>
