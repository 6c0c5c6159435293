/** The lines of a source that hold code: no blanks, no comments. */
export function codeLines(path: string, source: string): number
/** Code lines by folder, of files that git tracks or would add. */
export function countLines(root?: string): Map<string, number>
