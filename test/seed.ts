import fc from 'fast-check'

/** Property tests draw the same cases in every run; the soak draws others, and says which when one fails. */
if (process.env['COUNTERSIGN_SOAK'] === undefined) fc.configureGlobal({ seed: 20_261_116 })
