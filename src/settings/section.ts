import type { Config } from './settings.ts'

/** The settings of one part without its name: `issuer` for `oidcIssuer`. */
export type Section<P extends string> = {
  readonly [
    K in keyof Config as K extends `${P}${infer Rest}`
      ? Rest extends Capitalize<Rest>
        ? Uncapitalize<Rest>
        : never
      : never
  ]: Config[K]
}

/** Returns all settings of a part, which the part takes whole. A new setting is its row and its use. */
export function section<P extends string>(config: Config, part: P): Section<P> {
  const own = Object.entries(config).flatMap(([key, value]) => {
    const rest = key.startsWith(part) ? key.slice(part.length) : ''
    return /^[A-Z]/.test(rest) && value !== undefined
      ? [[`${rest.charAt(0).toLowerCase()}${rest.slice(1)}`, value]]
      : []
  })
  return Object.fromEntries(own) as Section<P>
}
