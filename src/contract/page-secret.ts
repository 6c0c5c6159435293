/**
 * On every request of the console: the secret of its session that the page keeps, beside the cookie
 * (docs/signing-in.md).
 */
export const PAGE_SECRET = 'countersign-page'
