/** Stores that a worker shares with the pages and the other workers of its origin. */
const OF_SCOPE = [
  'BroadcastChannel',
  'indexedDB',
  'caches',
  'cookieStore',
  'webkitRequestFileSystem',
  'webkitRequestFileSystemSync',
  'webkitResolveLocalFileSystemURL',
  'webkitResolveLocalFileSystemSyncURL',
]
const OF_NAVIGATOR = ['storage', 'storageBuckets', 'locks', 'serviceWorker']

/**
 * Takes from a worker what it shares with the pages of its origin. The console hands its session to a new tab on such a
 * channel. Later code of the worker cannot get it back.
 */
export function standAlone(scope: object): void {
  for (const name of OF_SCOPE) remove(scope, name)
  const { navigator } = scope as { readonly navigator: object }
  for (const name of OF_NAVIGATOR) remove(navigator, name)
}

/** Browsers define these members on the object or on one of its prototypes. */
function remove(object: object, name: string): void {
  for (let at: object | null = object; at !== null; at = Reflect.getPrototypeOf(at))
    Reflect.deleteProperty(at, name)
}
