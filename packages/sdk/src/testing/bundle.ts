/** The files of a bundle: the text of each path. */
export type Files = Readonly<Record<string, string>>
/** Names of tools, or a JSON Schema of the payload for each. */
export type Tools = readonly string[] | Readonly<Record<string, object>>

export interface BundleOptions {
  readonly allow?: Tools
  readonly review?: Tools
  readonly reject?: Tools
  /** How long reviewers have for a tool in `review`, such as `1m`. Default `8h`. */
  readonly expires?: string
}

const level = (expires = '8h') => ({ group: 'reviewers', approvals: 1, expires })

/** A short way to write a bundle, for tests that are not about policy. */
export function bundle({ expires, ...verdicts }: BundleOptions): Files {
  const [low, reviewer] = [level(), { name: 'Reviewer', groups: ['reviewers'] }]
  const files: Record<string, unknown> = {
    'routing.yaml': {
      unmatched: 'reject',
      allow_up_to: 'medium',
      levels: { low, medium: low, high: low, critical: low },
    },
    'directory.yaml': {
      tenants: {
        test: {
          agents: { agent: { owners: ['owner'] } },
          reviewers: { owner: { name: 'Owner', groups: [] }, reviewer },
        },
      },
    },
  }
  for (const [verdict, tools = []] of Object.entries(verdicts) as [string, Tools | undefined][])
    for (const [tool, input_schema] of schemasOf(tools)) {
      const about = { tool, description: `The tool ${tool}.`, risk: 'low', input_schema }
      const id = `${tool.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '-')}-${verdict}`
      const isOwn = verdict === 'review' && expires !== undefined
      files[`tools/${tool}.yaml`] = about
      const rule = { id, [verdict]: `The tests ${verdict} ${tool}.` }
      files[`rules/${tool}.yaml`] = {
        tool,
        rules: [isOwn ? { ...rule, reviewers: level(expires) } : rule],
      }
    }
  return Object.fromEntries(Object.entries(files).map(([path, value]) => [path, JSON.stringify(value)]))
}

const schemasOf = (tools: Tools): [string, object][] =>
  Array.isArray(tools) ? tools.map((name: string) => [name, { type: 'object' }]) : Object.entries(tools)
