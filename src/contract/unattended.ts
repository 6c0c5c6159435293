/** On a request of a page that nobody touches: it keeps no session from ending (docs/signing-in.md). Its value says nothing. */
export const UNATTENDED = 'countersign-unattended'
