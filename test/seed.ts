import fc from 'fast-check'
import { IS_LONG } from './runs.ts'

/** Property tests draw the same cases in every run; the soak draws others, and says which when one fails. */
if (!IS_LONG) fc.configureGlobal({ seed: 20_261_116 })
