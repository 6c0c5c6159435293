/** Index names of a tenant's partition. Scores are ms since 1970 unless stated otherwise. */
export const INDEX = {
  threads: 'threads',
  /** Leased index of threads, scored by the time of the timer's next check. */
  due: 'due',
  /**
   * Leased index of other records that the timer ends or deletes, scored by that time. Members:
   * src/gateway/core/expiry-index.ts.
   */
  purge: 'purge',
  /** Threads that do not wait for review. */
  status: (status: string): string => `status/${status}`,
  /** Threads of one assessed risk that wait for review. */
  pending: (risk: string): string => `pending/${risk}`,
  /** Waiting threads of one risk, scored by the time by which each needs a vote. */
  queue: (risk: string): string => `queue/${risk}`,
  /** Waiting threads in the order of a name. All scores are 0; members: src/gateway/thread/thread-indexes.ts. */
  queueBy: (name: 'agent' | 'tool'): string => `queue-by/${name}`,
  task: (agent: string, task: string): string => `task/${agent}/${task}`,
  /** Threads on which a reviewer voted, scored by that reviewer's last vote. */
  voted: (reviewer: string): string => `voted/${reviewer}`,
  /** Threads of a tool with a vote, scored by their last vote. */
  decided: (tool: string): string => `decided/${tool}`,
  /** Tools and labels of allowed or approved calls, scored by their last time. */
  taskHistory: (agent: string, task: string): string => `history/task/${agent}/${task}`,
  /** Calls that policy rejected. Score: number of the evidence record. Member: the commit's id. */
  rejected: (agent: string, task: string): string => `rejected/${agent}/${task}`,
  /** Records that allowed a call of a contract that expects its outcome, scored by number; by the hash of its id. */
  allows: (call: string): string => `allows/${call}`,
  /** Calls whose expected outcome is late, and threads of such calls, scored by the time when they were allowed. */
  unreported: 'unreported',
  agentHistory: (agent: string): string => `history/agent/${agent}`,
  /** A reviewer's credentials beside a key: `session <hash>`, `link <hash>`, `linked <account>`; scored by expiry. */
  signIns: (reviewer: string): string => `sign-ins/${reviewer}`,
  /** Messages of chats about a thread. */
  posted: (thread: string): string => `posted/${thread}`,
  /** Leased index of deliveries to attempt, scored by the time of the attempt. */
  outbox: (destination: string): string => `outbox/${destination}`,
  /** In the system partition: gateways, scored by their last report. */
  instances: 'instances',
  /** In the system partition: tenants that ever had a webhook. */
  webhookTenants: 'webhooks',
  /** Stored checkpoints; scored by their size. */
  checkpoints: 'checkpoints',
  /** All stored deliveries. */
  deliveries: (destination: string): string => `deliveries/${destination}`,
  /** Record files that left the store, scored by their last number; members: src/gateway/core/record-files.ts. */
  files: 'files',
  /** Records of type `erased`, scored by their number. */
  erased: 'erased',
  /** Score: number of the first evidence record of a commit that touched the thread. Member: the commit's id. */
  evidence: (thread: string): string => `evidence/${thread}`,
} as const

/** In the system partition: all tenants. */
export const TENANTS_INDEX = 'tenants'
