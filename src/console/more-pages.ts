/** The pages that load after the first list, because reviewers of calls do not need them. */
export { AgentsPage } from './agents/agents-page.tsx'
export { ChatsPage } from './chats/chats-page.tsx'
export { HistoryPage } from './history/history-page.tsx'
export { PoliciesPage } from './policies/policies-page.tsx'
export { WebhooksPage } from './webhooks/webhooks-page.tsx'
export { SeveralPane } from './several/several-pane.tsx'
