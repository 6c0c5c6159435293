/** The folder of the bundle when the command does not name a folder. */
export const DEFAULT_POLICIES = './policies'
