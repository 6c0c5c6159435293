/**
 * The header of a page's automatic requests, which do not keep a session alive (docs/signing-in.md). The header's value
 * has no meaning.
 */
export const UNATTENDED = 'countersign-unattended'
