"use strict";

const place = document.querySelector("[data-schema]");

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  // The description holds no secret; a key that was typed in is forgotten with the page.
  persistAuthorization: false,
});
