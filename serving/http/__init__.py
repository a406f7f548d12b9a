"""HTTP mechanics shared by the API, the agents' server and the page."""
