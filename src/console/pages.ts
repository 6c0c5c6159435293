/** The pages behind the queue: a script of their own, which is there before anybody opens one. */
export { AgentsPage } from './agents/agents-page.tsx'
export { Help } from './shell/help.tsx'
export { HistoryPage } from './history/history-page.tsx'
export { PoliciesPage } from './policies/policies-page.tsx'
export { WebhooksPage } from './webhooks/webhooks-page.tsx'
export { ThreadPage } from './thread/thread-page.tsx'
