import type { Diagnostic } from './diagnostics.ts'

/**
 * The findings as workflow commands of GitHub Actions, which shows them beside the lines of a pull request. `root` is the
 * bundle's directory as the repository names it, for example `policies`.
 */
export function printDiagnosticsGithub(found: readonly Diagnostic[], root: string): string {
  return found.map((one) => `${annotation(one, root)}\n`).join('')
}

function annotation(one: Diagnostic, root: string): string {
  const { severity, code, file, line, column, message, hint, width = 1 } = one
  const properties = {
    file: root === '' ? file : `${root}/${file}`,
    line,
    endLine: line,
    col: column,
    endColumn: column + width,
    title: code,
  }
  const listed = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(String(value))}`)
  return `::${severity} ${listed.join(',')}::${escapeData(hint === undefined ? message : `${message}\nhint: ${hint}`)}`
}

/** A newline would end the command, and the next line could be another one. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
