import type { KeptWords } from '../../policy/language/disclose.ts'
import type { Deps } from './deps.ts'

/** True when the bundle in force keeps such words in evidence (docs/policy-language.md, `disclose`). */
export const keepsWords = ({ policies }: Pick<Deps, 'policies'>, which: keyof KeptWords): boolean =>
  policies.current()?.keeps[which] === true
