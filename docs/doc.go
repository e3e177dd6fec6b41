// Package docs holds the pages of this folder, which server/web shows to browsers.
//
// Owner: none; a page is a constant of the build.
package docs
