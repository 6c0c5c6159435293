/**
 * A small policy bundle that reaches every path of the gateway: allow, review, reject, quorum, escalation, expiry,
 * rates, tenants.
 */
export const BUNDLE: Readonly<Record<string, string>> = {
  'routing.yaml': `unmatched: reject
allow_up_to: medium
levels:
  low:      { group: desk,  approvals: 1, expires: 8h }
  medium:   { group: desk,  approvals: 1, expires: 4h }
  high:     { group: leads, approvals: 1, expires: 1h, remind_after: 15m, escalate: { after: 30m, group: board } }
  critical: { group: board, approvals: 2, expires: 30m }
`,
  'directory.yaml': `tenants:
  acme:
    agents:
      bot:      { owners: [olga], tools: [t, pay, hold, brief, bare, once] }
      other:    { owners: [olga] }
      unsigned: { owners: [olga], signed_approvals: false }
      limited:  { owners: [olga], rate: 3/h }
      short:    { owners: [olga], token_ttl: 1m }
      selfie:   { owners: [ann], prevent_self_review: false }
    reviewers:
      ann:  { name: Ann Ash, email: ann@acme.example, groups: [desk, leads, board], roles: [admin] }
      ben:  { name: Ben Bay, groups: [desk, board] }
      cat:  { name: Cat Cox, groups: [desk, audit] }
      dan:  { name: Dan Day, groups: [audit] }
      eve:  { name: Eve Elm, groups: [board, leads] }
      nil:  { name: Nil Nox, groups: [] }
      olga: { name: Olga Orr, groups: [desk, leads, board, audit] }
  globex:
    agents:
      bot: { owners: [yan] }
    reviewers:
      zoe: { name: Zoe Zed, groups: [desk, leads, board, audit] }
      xia: { name: Xia Xu,  groups: [desk, leads, board, audit] }
      yan: { name: Yan Yew, groups: [desk, leads, board, audit] }
`,
  'tools/t.yaml': `tool: t
description: A harmless tool that takes anything.
risk: low
input_schema: { type: object }
`,
  'tools/hold.yaml': `tool: hold
description: Takes anything, and people always look at it.
risk: low
input_schema: { type: object }
`,
  'tools/brief.yaml': `tool: brief
description: A decision that cannot wait.
risk: low
input_schema: { type: object }
`,
  'tools/bare.yaml': `tool: bare
description: No rule covers it.
risk: low
input_schema: { type: object }
`,
  'tools/private.yaml': `tool: private
description: Not for the bot.
risk: low
input_schema: { type: object }
`,
  'tools/pay.yaml': `tool: pay
description: Move money.
risk: low
reversibility: irreversible
labels: [money]
sensitive: [payload.secret]
input_schema:
  type: object
  additionalProperties: false
  required: [amount]
  properties:
    amount: { type: integer, minimum: 1 }
    to: { type: string, maxLength: 100 }
    secret: { type: string, maxLength: 100 }
    pin: { type: string, pattern: '^[0-9]+$' }
`,
  'rules/open.yaml': `tool: t
rules:
  - id: t-open
    allow: Harmless.
`,
  'rules/private.yaml': `tool: private
rules:
  - id: private-open
    allow: For those who may.
`,
  'rules/hold.yaml': `tool: hold
rules:
  - id: hold-always
    review: People look at this.
`,
  'rules/brief.yaml': `tool: brief
rules:
  - id: brief-always
    review: Quick, please.
    reviewers: { group: desk, approvals: 1, expires: 1m }
`,
  'rules/pay.yaml': `tool: pay
missing_means:
  payload.to: nothing
  payload.secret: nothing
rules:
  - id: pay-small
    allow: Small change.
    when:
      payload.amount: { at_most: 100 }
  - id: pay-review
    review: More than pocket money.
    when:
      payload.amount: { over: 100, at_most: 10000 }
  - id: pay-high
    review: A lot of money.
    risk: high
    when:
      payload.amount: { over: 10000, at_most: 50000 }
  - id: pay-critical
    review: A fortune.
    risk: critical
    when:
      payload.amount: { over: 50000, at_most: 100000 }
  - id: pay-reject
    reject: Nobody moves that much.
    when:
      payload.amount: { over: 100000 }
  - id: pay-audit
    review: The auditors want to know.
    reviewers: { group: audit, approvals: 1, expires: 2h }
    when:
      payload.to: { starts_with: audit- }
  - id: pay-forbidden
    reject: Not with this secret.
    when:
      payload.secret: { contains: forbidden }
  - id: pay-shadow
    mode: shadow
    reject: Perhaps nobody should pay at all.
    when:
      payload.amount: { at_least: 1 }
`,
}
