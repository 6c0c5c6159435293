import type { Diagnostic } from './diagnostics.ts'

/**
 * Prints findings as workflow commands for GitHub Actions, which shows them next to the lines of a pull request.
 *
 * @param root the bundle's directory in the repository, for example `policies`
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

/** Escapes newlines, which would end the command and could begin another. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
