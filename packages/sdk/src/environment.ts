/** The environment of the process. A browser and a Worker have no process. */
const ENVIRONMENT = globalThis as {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> }
}

/** A variable without white space around it. Undefined when it is missing, empty, or must not be read. */
export function variable(name: string): string | undefined {
  try {
    const value = ENVIRONMENT.process?.env?.[name]?.trim()
    return value === '' ? undefined : value
  } catch {
    return undefined // Deno asks for a permission
  }
}
