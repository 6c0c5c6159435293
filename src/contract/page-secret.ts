/**
 * The header with the session's secret that the page keeps beside the cookie, on every request of the console
 * (docs/signing-in.md).
 */
export const PAGE_SECRET = 'countersign-page'
