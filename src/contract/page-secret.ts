/**
 * The header, on every request of the console, with the session's secret that the page keeps in addition to the cookie
 * (docs/signing-in.md).
 */
export const PAGE_SECRET = 'countersign-page'
